//! A DNS server that says what a test wants said, and remembers what it was asked.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hickory_resolver::proto::op::{Message, MessageType, OpCode, ResponseCode};
use hickory_resolver::proto::rr::rdata::{A, AAAA, CNAME};
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, UdpSocket};

/// What is said to one question.
#[derive(Clone)]
pub enum Say {
    /// These addresses, those of the family that was asked for.
    Addresses(Vec<&'static str>),
    /// That it is an alias of this.
    Alias(&'static str),
    /// That it is an alias of this, which has these addresses.
    AliasWith(&'static str, Vec<&'static str>),
    /// These addresses, for a minute.
    Kept(Vec<&'static str>),
    /// These addresses, of this other name.
    Of(&'static str, Vec<&'static str>),
    /// So many addresses, over TCP.
    Many(u32),
    /// That there is no such name.
    NoName,
    /// That it has no address.
    NoAddress,
    /// That it failed.
    Failure,
    /// Nothing.
    Silence,
    /// The answer, after so long.
    Late(Duration, Box<Say>),
    /// The answer, after so many others to questions nobody asked.
    Flood(u32, Box<Say>),
    /// Bytes that are no message.
    Rubbish,
}

/// Addresses, in short.
pub fn at(addresses: &[&'static str]) -> Say {
    Say::Addresses(addresses.to_vec())
}

type Zone = dyn Fn(&str, RecordType, usize) -> Say + Send + Sync;

/// The server.
pub struct Dns {
    pub address: SocketAddr,
    asked: Mutex<Vec<String>>,
    zone: Box<Zone>,
}

impl Dns {
    /// Answers as `zone` says for a name, a type, and how often just that was asked before.
    pub async fn start(
        zone: impl Fn(&str, RecordType, usize) -> Say + Send + Sync + 'static,
    ) -> Arc<Self> {
        let (udp, tcp) = loop {
            let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            // The same port may be taken for TCP.
            if let Ok(tcp) = TcpListener::bind(udp.local_addr().unwrap()).await {
                break (udp, tcp);
            }
        };
        let address = udp.local_addr().unwrap();
        let dns = Arc::new(Self {
            address,
            asked: Mutex::default(),
            zone: Box::new(zone),
        });
        tokio::spawn(Arc::clone(&dns).by_udp(Arc::new(udp)));
        tokio::spawn(Arc::clone(&dns).by_tcp(tcp));
        dns
    }

    /// What was asked, such as `a.example. A`, in order.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    async fn by_udp(self: Arc<Self>, socket: Arc<UdpSocket>) {
        let mut bytes = [0; 4096];
        loop {
            let (count, from) = socket.recv_from(&mut bytes).await.unwrap();
            let asked = Message::from_vec(&bytes[..count]).unwrap();
            let (dns, socket) = (Arc::clone(&self), Arc::clone(&socket));
            tokio::spawn(async move {
                for answer in dns.answer(&asked, false).await {
                    socket.send_to(&answer, from).await.unwrap();
                }
            });
        }
    }

    async fn by_tcp(self: Arc<Self>, listener: TcpListener) {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let dns = Arc::clone(&self);
            tokio::spawn(async move {
                while let Ok(length) = stream.read_u16().await {
                    let mut bytes = vec![0; length.into()];
                    stream.read_exact(&mut bytes).await.unwrap();
                    let asked = Message::from_vec(&bytes).unwrap();
                    for answer in dns.answer(&asked, true).await {
                        let length = u16::try_from(answer.len()).unwrap();
                        stream.write_u16(length).await.unwrap();
                        stream.write_all(&answer).await.unwrap();
                    }
                }
            });
        }
    }

    /// The messages that are sent.
    async fn answer(&self, asked: &Message, by_tcp: bool) -> Vec<Vec<u8>> {
        let query = asked.queries[0].clone();
        let (name, kind) = (query.name().clone(), query.query_type());
        let text = name.to_ascii().to_lowercase();
        let line = format!("{text} {kind}");
        let before = {
            let mut all = self.asked.lock().unwrap();
            let before = all.iter().filter(|known| **known == line).count();
            all.push(line);
            before
        };
        let mut say = (self.zone)(text.trim_end_matches('.'), kind, before);
        let mut flood = 0;
        loop {
            match say {
                Say::Late(time, later) => {
                    tokio::time::sleep(time).await;
                    say = *later;
                }
                Say::Flood(count, behind) => {
                    flood = count;
                    say = *behind;
                }
                _ => break,
            }
        }
        let id = asked.metadata.id;
        let mut message = Message::new(id, MessageType::Response, OpCode::Query);
        message.metadata.recursion_desired = true;
        message.metadata.recursion_available = true;
        message.add_query(query);
        match say {
            Say::Silence => return Vec::new(),
            Say::Rubbish => return vec![[id.to_be_bytes().to_vec(), vec![0xff; 40]].concat()],
            Say::Failure => message.metadata.response_code = ResponseCode::ServFail,
            Say::NoName => message.metadata.response_code = ResponseCode::NXDomain,
            Say::Many(_) if !by_tcp => message.metadata.truncation = true,
            Say::Many(count) if kind == RecordType::A => {
                message.add_answers((0..count).map(|n| {
                    let address = std::net::Ipv4Addr::from(0x0101_0100 + n);
                    Record::from_rdata(name.clone(), 60, RData::A(A(address)))
                }));
            }
            Say::Alias(other) => {
                message.add_answer(alias(&name, other));
            }
            Say::AliasWith(other, addresses) => {
                message.add_answer(alias(&name, other));
                let other = Name::from_ascii(format!("{other}.")).unwrap();
                message.add_answers(records(&other, kind, &addresses));
            }
            Say::Addresses(addresses) => {
                message.add_answers(records(&name, kind, &addresses));
            }
            Say::Kept(addresses) => {
                let mut all = records(&name, kind, &addresses);
                for record in &mut all {
                    record.ttl = 60;
                }
                message.add_answers(all);
            }
            Say::Of(other, addresses) => {
                let other = Name::from_ascii(format!("{other}.")).unwrap();
                message.add_answers(records(&other, kind, &addresses));
            }
            _ => {}
        }
        let answer = message.to_vec().unwrap();
        let others = (1..=flood).map(|n| {
            let mut other = answer.clone();
            let wrong = id.wrapping_add(u16::try_from(n % 0xffff + 1).unwrap());
            other[..2].copy_from_slice(&wrong.to_be_bytes());
            other
        });
        others.chain([answer.clone()]).collect()
    }
}

fn alias(name: &Name, other: &str) -> Record {
    let other = Name::from_ascii(format!("{other}.")).unwrap();
    Record::from_rdata(name.clone(), 60, RData::CNAME(CNAME(other)))
}

/// With a lifetime of nothing, so that each request asks again.
fn records(name: &Name, kind: RecordType, addresses: &[&str]) -> Vec<Record> {
    let of_kind = addresses.iter().filter_map(|text| match kind {
        RecordType::A => text.parse().ok().map(|address| RData::A(A(address))),
        RecordType::AAAA => text.parse().ok().map(|address| RData::AAAA(AAAA(address))),
        _ => None,
    });
    of_kind
        .map(|data| Record::from_rdata(name.clone(), 0, data))
        .collect()
}
