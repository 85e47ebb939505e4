import { signal } from '@preact/signals';
import { askServer } from '../api/calls.ts';
import type { PageParts } from '../shell/page-parts.ts';
import { createPreferences } from '../shell/preferences.ts';
import { StudioAgent } from '../studio/agent.ts';

const KEY = 'key';
const SILENCE = 'The server does not answer. Does gx dev still run?';

/** The page that `dev` serves. Its places stand behind the hash of the address, which no server sees. */
export class DevApp implements PageParts {
  readonly preferences = createPreferences();
  readonly now = signal(Date.now());
  readonly notice = signal('');
  readonly fault = signal<string | undefined>(undefined);
  readonly part = signal('');
  /** Why graphs are not served as their files say. */
  readonly faults = signal<string[]>([]);
  readonly agent: StudioAgent;

  constructor() {
    const key = readServerKey();
    const headers = key === null ? {} : { 'x-api-key': key };
    this.agent = new StudioAgent((path, asked) =>
      askServer(
        new URL(path, new URL('.', document.baseURI)),
        { ...asked, headers: { ...headers, ...asked.headers } },
        SILENCE,
      ),
    );
  }

  start(): void {
    setInterval(() => (this.now.value = Date.now()), 10_000);
    const read = (): void => void (this.part.value = parsePart(location.hash));
    addEventListener('hashchange', read);
    read();
    // A developer who has mended one comes back from the editor to this window.
    addEventListener('focus', () => void this.#listFaults());
    void this.#listFaults();
  }

  async #listFaults(): Promise<void> {
    // A server that is just restarting has nothing to tell.
    this.faults.value = await this.agent.listGraphFaults().catch(() => []);
  }

  announce(sentence: string): void {
    this.notice.value = sentence;
    setTimeout(() => this.notice.value === sentence && (this.notice.value = ''), 8000);
  }
}

/** Returns the address of a part of the studio. */
export const buildDevHref = (part: string): string => `#/${encodeURIComponent(part)}`;

function parsePart(hash: string): string {
  try {
    // Links to the former chat page name a thread as `#thread=`.
    return decodeURIComponent(/^#(?:\/|thread=)([^/&]*)/.exec(hash)?.[1] ?? '');
  } catch {
    return '';
  }
}

/** Returns the key that the link to this page had, which is kept as long as its tab. The address loses it. */
function readServerKey(): string | null {
  const given = new URLSearchParams(location.hash.slice(1)).get(KEY);
  if (given === null) return sessionStorage.getItem(KEY);
  sessionStorage.setItem(KEY, given);
  history.replaceState(null, '', location.pathname);
  return given;
}
