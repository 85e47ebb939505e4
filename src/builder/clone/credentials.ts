import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { StageFailed } from '../../errors.ts';
import {
  findPrivateKeyFault,
  toUnixLines,
  toCanonicalPem,
  trimCredential,
} from '../../schema/platform/source/pasted-credential.ts';

/** Git's settings that show a credential, and the texts that nobody may read. */
export type ShownCredential = {
  config: Record<string, string>;
  env: Record<string, string>;
  hidden: string[];
};

/** Hosts take a token with any name; of GitHub it is the name for tokens of an app. */
const USER_OF_TOKEN = 'x-access-token';

/**
 * Returns how git shows the credential of a folder, as a Secret is mounted: `token` (with `username`), `username` and
 * `password`, or `ssh-privatekey` and `known_hosts`. Git reads the files itself, and only for the host of the address:
 * no argument, variable, address or file of the clone ever holds the credential. `scratch` is a folder of this stage
 * alone: a key or a token that was not pasted as programs read it is written there as they do.
 */
export function showGitCredential(folder: string, url: string, scratch: string): ShownCredential {
  if (url.startsWith('file:')) return none;
  return /^https?:/.test(url) ? showPassword(folder, url, scratch) : showKey(folder, scratch);
}

const none: ShownCredential = { config: {}, env: {}, hidden: [] };

function showPassword(folder: string, url: string, scratch: string): ShownCredential {
  const file = ['token', 'password']
    .map((name) => path.join(folder, name))
    .find((name) => existsSync(name));
  if (file === undefined) return none;
  const username = readContent(path.join(folder, 'username')) ?? USER_OF_TOKEN;
  const written = readFileSync(file, 'utf8');
  const secret = trimCredential(written);
  return {
    config: {
      // A helper of one host: after a redirect elsewhere git does not ask it.
      [`credential.${new URL(url).origin}.helper`]:
        '!f() { test "$1" = get && printf "username=%s\\npassword=%s\\n" "$GX_USERNAME" "$(cat "$GX_PASSWORD_FILE")"; }; f',
    },
    // The shell itself leaves out the newlines at the end.
    env: {
      GX_USERNAME: username,
      GX_PASSWORD_FILE: ensureReadable(file, written.replace(/\n+$/, ''), {
        text: secret,
        scratch,
      }),
    },
    hidden: [secret, Buffer.from(`${username}:${secret}`).toString('base64')].filter(
      (text) => text !== '',
    ),
  };
}

function showKey(mounted: string, scratch: string): ShownCredential {
  const [key, hosts] = ['ssh-privatekey', 'known_hosts'].map((name) =>
    path.join(mounted, name),
  ) as [string, string];
  if (!existsSync(key))
    throw new StageFailed(
      'CloneFailed',
      'An ssh address needs an integration with the keys ssh-privatekey and known_hosts in its Secret.',
    );
  if (!existsSync(hosts))
    throw new StageFailed(
      'CloneFailed',
      "The integration's Secret has no known_hosts, so the git host can't be verified.",
    );
  const written = readFileSync(key, 'utf8');
  const fault = findPrivateKeyFault(written);
  if (fault !== undefined)
    throw new StageFailed('CloneFailed', `ssh-privatekey of the integration's Secret is ${fault}.`);
  const [keyFile, hostsFile] = [
    ensureReadable(key, written, { text: toCanonicalPem(written), scratch }),
    ensureReadable(hosts, readFileSync(hosts, 'utf8'), {
      text: toUnixLines(readFileSync(hosts, 'utf8')),
      scratch,
    }),
  ];
  const quoteText = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
  const options = [
    'BatchMode=yes',
    'IdentitiesOnly=yes',
    'StrictHostKeyChecking=yes',
    `UserKnownHostsFile=${hostsFile}`,
    'GlobalKnownHostsFile=/dev/null',
    'ForwardAgent=no',
    'ConnectTimeout=30',
  ];
  const command = [
    'ssh',
    '-F',
    '/dev/null',
    '-i',
    quoteText(keyFile),
    ...options.flatMap((option) => ['-o', quoteText(option)]),
  ];
  return {
    config: {},
    env: { GIT_SSH_COMMAND: command.join(' '), GIT_SSH_VARIANT: 'ssh' },
    hidden: [],
  };
}

/** Returns a file with this text: the mounted one if it has it, or one that only this user may read. */
function ensureReadable(
  file: string,
  written: string,
  { text, scratch }: { text: string; scratch: string },
): string {
  if (written === text) return file;
  const copy = path.join(scratch, path.basename(file));
  mkdirSync(scratch, { recursive: true, mode: 0o700 });
  writeFileSync(copy, text, { mode: 0o600 });
  return copy;
}

const readContent = (file: string): string | undefined =>
  existsSync(file) ? trimCredential(readFileSync(file, 'utf8')) : undefined;
