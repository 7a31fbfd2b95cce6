// Node's https asks no proxy by itself; this is the way its documentation shows.
const http = require("http");
const https = require("https");

const url = new URL(process.argv[1]);
const proxy = new URL(process.env.HTTPS_PROXY);
const authority = `${url.hostname}:443`;
http
  .request({
    host: proxy.hostname,
    port: proxy.port,
    method: "CONNECT",
    path: authority,
    headers: { host: authority },
  })
  .on("connect", (answer, socket) => {
    if (answer.statusCode !== 200) {
      const reason = answer.headers["x-omnia-egress-refused"];
      console.error(`${answer.statusCode} ${answer.statusMessage} (${reason})`);
      process.exit(1);
    }
    https.get(url, { socket, agent: false }, (page) => page.pipe(process.stdout));
  })
  .end();
