import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import ssh2, { type Connection, type Session } from 'ssh2';

export type SshHost = {
  /** The address of the repository. */
  url: string;
  /** The private key that opens it. */
  key: string;
  /** The host's own key, as a line of known_hosts. */
  knownHosts: string;
  /** Commands that callers with the right key asked for. */
  asked: string[];
  stop(): Promise<void>;
};

/** Makes a pair of keys of an ssh host or of one who calls it. */
export const sshKeys = (passphrase?: string): { private: string; public: string } =>
  ssh2.utils.generateKeyPairSync(
    'ed25519',
    passphrase === undefined ? {} : { passphrase, cipher: 'aes256-ctr', rounds: 1 },
  );

/** Serves one repository by ssh on this machine, for reading alone, to the holder of one key. */
export async function startSshHost(folder: string): Promise<SshHost> {
  const [own, caller] = [sshKeys(), sshKeys()];
  const taken = ssh2.utils.parseKey(caller.public);
  if (taken instanceof Error) throw taken;
  const asked: string[] = [];
  const open = new Set<Connection>();
  const server = new ssh2.Server({ hostKeys: [own.private] }, (connection) => {
    open.add(connection);
    connection.on('close', () => open.delete(connection));
    // A caller that does not know the host's key hangs up, which is an error on this side.
    connection.on('error', () => undefined);
    connection.on('authentication', (context) => {
      if (context.method !== 'publickey' || !context.key.data.equals(taken.getPublicSSH()))
        return context.reject(['publickey']);
      const { signature, blob, hashAlgo } = context;
      const isRight =
        signature === undefined ||
        // oxlint-disable-next-line typescript/no-unnecessary-boolean-literal-compare -- it may also return an Error, untold by its types
        (blob !== undefined && taken.verify(blob, signature, hashAlgo) === true);
      return isRight ? context.accept() : context.reject(['publickey']);
    });
    connection.on('session', (accept) => serve(accept(), folder, asked));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `ssh://git@127.0.0.1:${port}/team/chat`,
    key: caller.private,
    knownHosts: `[127.0.0.1]:${port} ${own.public}\n`,
    asked,
    async stop() {
      for (const connection of open) connection.end();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Runs the one command that fetching needs, whatever path is asked for. */
function serve(session: Session, folder: string, asked: string[]): void {
  let protocol: Record<string, string> = {};
  session.on('env', (accept, _reject, { key, val }) => {
    if (key === 'GIT_PROTOCOL') protocol = { GIT_PROTOCOL: val };
    accept?.();
  });
  session.on('exec', (accept, reject, { command }) => {
    asked.push(command);
    if (!/^git[ -]upload-pack /.test(command)) return reject();
    const channel = accept();
    const child = spawn('git', ['upload-pack', folder], { env: { ...process.env, ...protocol } });
    channel.pipe(child.stdin);
    child.stdout.pipe(channel, { end: false });
    child.on('close', (code) => {
      channel.exit(code ?? 1);
      channel.end();
    });
  });
}
