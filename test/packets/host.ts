// One host of the lab, in a network namespace of its own: it answers on some ports with its name, and asks others when
// told to. It ends with its standard input.
import { createSocket } from 'node:dgram';
import { connect, createServer, isIPv6 } from 'node:net';
import { createInterface } from 'node:readline';

/** A question to an address: `tcp/80` or `udp/53`. */
export type Probe = { address: string; port: string };
/** Who answered, or undefined. */
export type Answer = string | undefined;

/** Milliseconds for an answer. What is refused is refused at once, so only what is lost takes that long. */
const PATIENCE = 2000;

function listen(name: string, port: string): Promise<void> {
  const [protocol, number] = portOf(port);
  if (protocol === 'tcp') {
    const server = createServer((socket) => socket.on('error', () => undefined).end(name));
    return new Promise((done) => void server.listen(number, '::', done));
  }
  const socket = createSocket('udp6', (_message, from) =>
    socket.send(name, from.port, from.address),
  );
  socket.on('error', () => undefined);
  return new Promise((done) => void socket.bind(number, '::', done));
}

const ask = ({ address, port }: Probe): Promise<Answer> =>
  port.startsWith('tcp') ? askByTcp(address, port) : askByUdp(address, port);

function askByTcp(address: string, port: string): Promise<Answer> {
  return new Promise((done) => {
    const socket = connect({ host: address, port: portOf(port)[1], timeout: PATIENCE });
    let answer = '';
    socket.on('data', (data) => (answer += String(data)));
    socket.on('end', () => socket.destroy());
    socket.on('timeout', () => socket.destroy());
    socket.on('error', () => undefined);
    socket.on('close', () => done(answer === '' ? undefined : answer));
  });
}

/** The last port that a question over UDP came from; the process is one host of the table. */
let lastPort = 20_000;

/** Returns a port not used for long. For 30 seconds the kernel lets packets of an earlier question pass. */
function nextPort(): number {
  lastPort = lastPort < 60_000 ? lastPort + 1 : 20_001;
  return lastPort;
}

function askByUdp(address: string, port: string): Promise<Answer> {
  return new Promise((done) => {
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
    const end = (answer: Answer): void => {
      clearTimeout(timer);
      socket.close();
      done(answer);
    };
    const timer = setTimeout(() => end(undefined), PATIENCE);
    socket.once('message', (data) => end(String(data)));
    socket.once('error', () => end(undefined));
    // A refusal reaches only a socket that is connected.
    socket.bind(nextPort(), () => socket.connect(portOf(port)[1], address, () => socket.send('?')));
  });
}

function portOf(port: string): [protocol: string, number: number] {
  const [protocol = '', number] = port.split('/');
  return [protocol, Number(number)];
}

if (import.meta.main) {
  const [name = '', ...ports] = process.argv.slice(2);
  await Promise.all(ports.map((port) => listen(name, port)));
  process.stdout.write('listens\n');
  for await (const line of createInterface({ input: process.stdin })) {
    const answers = await Promise.all((JSON.parse(line) as Probe[]).map(ask));
    process.stdout.write(`${JSON.stringify(answers.map((answer) => answer ?? null))}\n`);
  }
  process.exit();
}
