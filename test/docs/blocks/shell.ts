import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Block } from './read.ts';

/*
 * The commands of a page are typed into a real shell, in their order. Its programs only write down how they were
 * called, so the shell itself says which words, variables and documents they get.
 */

/** A program as the shell called it, with what it was given on its standard input. */
export type Call = { program: string; args: string[]; input: string; at: string };

/** Programs that pages call. */
const PROGRAMS =
  'api-key gx git make node npm npx kubectl helm curl sh python claude cosign docker jq langgraph openssl pip python3 sed sha256sum skopeo uuidgen uvx';

/** Programs that a shell has everywhere, as they are. */
const AS_THEY_ARE = ['cat', 'date', 'grep', 'base64', 'tr'];

/** Programs that pages find in a virtual environment or behind a path of their own. */
const ELSEWHERE: Record<string, string> = { '.venv/bin/pip': 'pip' };

/** What people have set before they type, and what the page has said to take. */
const VARIABLES = {
  CONTROL_PLANE_URL: 'http://control-plane',
  URL: 'http://control-plane',
  AGENT_URL: 'http://agent',
  API_KEY: 'key-of-the-api',
  AGENT_KEY: 'key-of-the-agent',
  KEY: 'key-of-the-api',
  KUBECTL: 'kubectl',
  EXAMPLE_IMAGE: 'registry.example.com/echo:1',
  IMAGE: 'registry.example.com/echo:1',
  REGISTRY: 'registry.example.com/me',
  GIT_INTEGRATION_ID: '5b0c1a52-7d1f-4f0e-9a67-0d2f6c8e3b11',
  REPO_URL: 'https://github.com/acme/chat',
  GIT_URL: 'https://git.example.com/acme/chat.git',
  THREAD: '5b0c1a52-7d1f-4f0e-9a67-0d2f6c8e3b12',
  ID: '5b0c1a52-7d1f-4f0e-9a67-0d2f6c8e3b13',
  AEGRA_DATABASE_URL: 'postgresql://old',
  MDA_INGRESS_SECRET: 'secret',
  NAMESPACE: 'gx-agents',
  TARGET: 'main',
  // Of the runbooks, which say what each stands for.
  DEPLOYMENT: 'chat',
  POD: 'chat-1',
  NODE: 'node-1',
  NEW: 'chat-again',
  REVISION: 'chat-00001',
  KIND: 'pod',
  NAME: 'chat',
  ROLE: 'write',
  COLLECTOR: 'otel',
  COLLECTOR_NAMESPACE: 'observability',
  GI: '20',
  TABLE: 'mine',
  QUOTA: 'all',
  RESOURCE: 'pods',
  LIMIT: '10',
  LISTENER: 'default',
  HOSTS: '["a.example.com"]',
  HOST: 'a.example.com',
  PODS: '4',
};

/** Words in angle brackets stand for what a reader knows. A shell would take the brackets for redirections. */
const filledIn = (text: string): string =>
  text
    .replaceAll('<64 digits>', 'a'.repeat(64))
    .replaceAll(/<(control plane|checkout)>/g, 'place')
    .replaceAll(/<[a-z][a-z_ ]*>/g, '5b0c1a52-7d1f-4f0e-9a67-0d2f6c8e3b14');

/** Answers of programs on which a page's next words depend; each is another one, so that loops end. */
const STUB = `#!/bin/bash
set -u
[ -n "\${GX_LOG:-}" ] || exit 0
count=$(( $(/bin/cat "$GX_LOG.count" 2>/dev/null || echo 0) + 1 )); echo $count > "$GX_LOG.count"
input=""
case " $* " in *" - "*|*" -f- "*|*" -i "*|*" --stdin "*) input=$(/usr/bin/timeout 1 /bin/cat) ;; esac
{ printf '%s\\0' "$AT" "\${0##*/}" "$input" "$@"; printf '\\1\\0'; } >> "$GX_LOG"
case " $* " in
  *" -o name "*) echo pod/answer-$count ;;
  *" -o json "*) echo '{"kind":"Deployment","metadata":{}}' ;;
  *jsonpath=*spec.template*) echo '{"sourceRevisionConfig":{"imageUri":"i"}}' ;;
  *metadata.uid*) echo 5b0c1a52-7d1f-4f0e-9a67-0d2f6c8e3b15 ;;
  *status.url*) echo http://agent ;;
  *) echo answer-$count ;;
esac
`;

/** A shell's words around the blocks of a page: a program that nobody knows is written down as such. */
const PRELUDE = `
set -u
command_not_found_handle() { printf '%s\\0' "$AT" "unknown: $1" "" ; printf '\\1\\0'; } >> "$GX_LOG"
cd() { :; }
sleep() { :; }
`;

/** Types the blocks of one page. Returns the calls, and what the shell itself did not understand. */
export function typePage(blocks: Block[]): { calls: Call[]; faults: string[] } {
  const folder = mkdtempSync(join(tmpdir(), 'gx-docs-shell-'));
  try {
    const programs = join(folder, 'bin');
    mkdirSync(programs);
    for (const name of PROGRAMS.split(' ')) {
      writeFileSync(join(programs, name), STUB);
      chmodSync(join(programs, name), 0o755);
    }
    for (const name of AS_THEY_ARE)
      symlinkSync(execFileSync('which', [name], { encoding: 'utf8' }).trim(), join(programs, name));
    const work = join(folder, 'work');
    for (const [place, name] of Object.entries(ELSEWHERE)) {
      mkdirSync(join(work, place, '..'), { recursive: true });
      symlinkSync(join(programs, name), join(work, place));
    }
    mkdirSync(join(work, '.run'), { recursive: true });
    writeFileSync(join(work, '.run/env'), '');
    writeFileSync(join(work, 'install.yaml'), '');
    const log = join(folder, 'calls');
    const text = blocks
      .map(({ at, text: block }) => `export AT='${at}'\n${withoutCopies(filledIn(block))}`)
      .join('\n');
    const ran = spawnSync('/bin/bash', ['-c', `${PRELUDE}\n${text}\nwait`], {
      cwd: work,
      env: { ...VARIABLES, GX_LOG: log, AT: '', PATH: programs, HOME: folder },
      encoding: 'utf8',
      timeout: 30_000,
    });
    const faults = ran.stderr
      .split('\n')
      .filter((line) => /bash: (line|-c)|unbound|syntax/.test(line))
      .map((line) => `${blocks[0]!.page}: ${line}`);
    return { calls: existsSync(log) ? callsIn(readFileSync(log, 'utf8')) : [], faults };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Programs that change files of the reader's own are only looked up. */
const withoutCopies = (text: string): string =>
  text.replaceAll(/^(cp|rm) .*$/gm, (line) => line.replaceAll(/\b(cp|rm) -\w+ \S+( \S+)?/g, ':'));

const callsIn = (log: string): Call[] =>
  log
    .split('\u0001\0')
    .filter((one) => one !== '')
    .map((one) => {
      const [at = '', program = '', input = '', ...args] = one.split('\0').slice(0, -1);
      return { program, args, input, at };
    });
