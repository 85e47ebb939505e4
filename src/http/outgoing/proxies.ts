import { parseAddress } from './addresses.ts';

/** The proxies through which a network lets requests out, by the scheme of their URLs. */
export type Proxies = {
  https?: string | undefined;
  http?: string | undefined;
  /** Hosts, domains (`.example.com`), addresses and blocks, each with or without a port. `*` stands for everybody. */
  direct: readonly string[];
};

/** Returns the proxy through which a URL is asked. Undefined if it is asked directly. */
export function chooseProxy(
  { protocol, hostname, port }: URL,
  { https, http, direct }: Proxies,
): string | undefined {
  const proxy = protocol === 'https:' ? https : http;
  if (proxy === undefined) return undefined;
  const host = hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  const own = port === '' ? (protocol === 'https:' ? '443' : '80') : port;
  return direct.some((entry) => isListedAs(entry.trim().toLowerCase(), host, own))
    ? undefined
    : proxy;
}

/** Programs differ in how they read such a list. All that any of curl, Go and Node.js takes for a match is one here. */
function isListedAs(entry: string, host: string, port: string): boolean {
  const [, name = '', only] =
    /^(.*?)(?::(\d+))?$/.exec(
      entry.startsWith('[') || !/:.*:/.test(entry) ? entry : `[${entry}]`,
    ) ?? [];
  if (only !== undefined && only !== port) return false;
  const bare = name.replace(/^\[(.*)\]$/, '$1').replace(/^\*?\./, '');
  if (bare === '') return false;
  if (bare === '*' || bare === host || host.endsWith(`.${bare}`)) return true;
  return bare.includes('/') && isInBlock(bare, host);
}

function isInBlock(block: string, host: string): boolean {
  const [base = '', bits = ''] = block.split('/');
  const [wanted, bytes] = [parseAddress(base), parseAddress(host)];
  if (wanted === undefined || bytes?.length !== wanted.length || !/^\d{1,3}$/.test(bits))
    return false;
  return wanted.every((byte, at) => {
    const mask = (0xff_00 >> Math.min(8, Math.max(0, Number(bits) - at * 8))) & 0xff;
    return (byte & mask) === ((bytes[at] ?? 0) & mask);
  });
}
