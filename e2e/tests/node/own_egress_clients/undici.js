const { ProxyAgent, request } = require("undici");

const dispatcher = new ProxyAgent(process.env.HTTPS_PROXY);
request(process.argv[1], { dispatcher })
  .then(({ body }) => body.text())
  .then((text) => process.stdout.write(text))
  .catch((error) => {
    console.error(error);
    process.exitCode = 1;
  });
