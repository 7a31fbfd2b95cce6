//! The clients, and what each shows of a refusal. Pure.

/// Where the page is on the host, and a repository that holds it.
const PATH: &str = "page.html";
const REPOSITORY: &str = "page.git";

/// The status and the reason phrase of the refusal.
const STATUS_AND_PHRASE: &[&str] = &["403 Egress refused: host-not-allowed"];

/// Its header.
const HEADER: &[&str] = &["X-Omnia-Egress-Refused: host-not-allowed"];

/// A program that fetches pages.
pub struct Client {
    /// What people call it.
    pub name: &'static str,
    /// How it prints the page at the URL that follows.
    pub command: &'static [&'static str],
    /// Where on the host that is.
    pub path: &'static str,
    /// What one line of its complaint holds if it is refused.
    pub shows: &'static [&'static str],
}

/// All of them.
pub const CLIENTS: [Client; 11] = [
    Client {
        name: "curl",
        command: &["curl", "--silent", "--show-error"],
        path: PATH,
        shows: &["CONNECT", "403"],
    },
    Client {
        name: "curl --verbose",
        command: &["curl", "--silent", "--verbose"],
        path: PATH,
        shows: HEADER,
    },
    Client {
        name: "git",
        command: &["sh", "-ec", GIT, "git"],
        path: REPOSITORY,
        shows: &["CONNECT", "403"],
    },
    Client {
        name: "git with GIT_CURL_VERBOSE",
        command: &["env", "GIT_CURL_VERBOSE=1", "sh", "-ec", GIT, "git"],
        path: REPOSITORY,
        shows: HEADER,
    },
    Client {
        name: "Python's urllib",
        command: &["python3", "-c", include_str!("urllib.py")],
        path: PATH,
        shows: STATUS_AND_PHRASE,
    },
    Client {
        name: "Python's requests",
        command: &["python3", "-c", include_str!("requests.py")],
        path: PATH,
        shows: STATUS_AND_PHRASE,
    },
    Client {
        name: "Python's httpx",
        command: &["python3", "-c", include_str!("httpx.py")],
        path: PATH,
        shows: STATUS_AND_PHRASE,
    },
    Client {
        name: "Node's undici",
        command: &["node", "-e", include_str!("undici.js")],
        path: PATH,
        // With the status in between, where it is newer than Debian's.
        shows: &["Proxy response ", "!== 200 when HTTP Tunneling"],
    },
    Client {
        name: "Node's https",
        command: &["node", "-e", include_str!("https.js")],
        path: PATH,
        shows: STATUS_AND_PHRASE,
    },
    Client {
        name: "Go's net/http",
        command: &["go-client"],
        path: PATH,
        shows: &["Egress refused: host-not-allowed"],
    },
    Client {
        name: "Rust's reqwest",
        command: &["rust-client"],
        path: PATH,
        shows: &["TunnelUnsuccessful"],
    },
];

/// Clones the repository, and prints the page that it holds.
const GIT: &str =
    "rm -rf /files/clone; git clone --quiet \"$1\" /files/clone; cat /files/clone/page.html";

/// A browser that shows what becomes of a page without a screen. It fails only if there is none.
pub const BROWSER: Client = Client {
    name: "Chromium",
    command: &["sh", "-ec", CHROMIUM, "chromium"],
    path: PATH,
    shows: &["net::ERR_TUNNEL_CONNECTION_FAILED"],
};

/// Prints what is within the body. A sandbox has no room for the browser's own, and its authorities are not
/// those of the environment.
const CHROMIUM: &str = "page=$(/usr/lib/chromium/chromium --headless --no-sandbox --disable-gpu \
    --ignore-certificate-errors --user-data-dir=/files/profile --dump-dom \"$1\")
    page=${page#*<body>}; page=${page%</body>*}; test -n \"$page\"; printf %s \"$page\"";
