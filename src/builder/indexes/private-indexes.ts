import { describeNearestName } from '../../nearest-name.ts';
import { parseJsonOr } from '../../schema/json.ts';

/*
 * Private indexes of packages, as the Secret of builds names them, and which of their addresses get a credential.
 */

/** An address with a credential: it and all that is below it. */
export type IndexScope = {
  /** Ends with a slash. */
  url: URL;
  /** The value of the header `authorization`. */
  proof: string;
};

/** Where a scope is found in a build, without a credential. Neither address ends with a slash. */
export type ProxiedScope = { real: string; at: string };

/** The answer of the proxy to a build that asks what it has. */
export type ProxiedScopes = { scopes: ProxiedScope[]; problem?: string };

/** A fault of the Secret. Its words hold nothing of the content, which is secret. */
export class IndexFault extends RangeError {}

/**
 * Returns the addresses that a tenant's builds may read. An entry without `tenants` is for all. Throws an IndexFault
 * for a text that is no list of indexes.
 */
export function parseIndexScopes(text: string, tenant: string): IndexScope[] {
  // The parser's own words would show a part of the credential.
  const given = parseJsonOr(text, undefined);
  if (!Array.isArray(given)) throw new IndexFault('indexes.json is not a list in JSON');
  return given
    .map(parseEntry)
    .filter(({ tenants }) => tenants === undefined || tenants.includes(tenant))
    .flatMap(({ url, files, username, password }) => {
      const proof = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
      return [getScopeUrl(url), ...files.map(toFolderUrl)].map((scope) => ({ url: scope, proof }));
    });
}

function parseEntry(
  given: unknown,
  at: number,
): { url: URL; files: URL[]; username: string; password: string; tenants?: string[] } {
  const entry =
    typeof given === 'object' && given !== null
      ? new Map<string, unknown>(Object.entries(given))
      : new Map<string, unknown>();
  // A misspelt `tenants` would give the credential to all. The name itself may be a part of the credential.
  const unknown = [...entry.keys()].find((key) => !FIELDS.includes(key));
  if (unknown !== undefined)
    throw new IndexFault(
      `indexes.json[${at}] has a field that is none of ${FIELDS.join(', ')}${describeNearestName(unknown, FIELDS)}`,
    );
  const require = <T>(value: T | undefined, key: string, what: string): T => {
    if (value === undefined) throw new IndexFault(`indexes.json[${at}].${key} is no ${what}`);
    return value;
  };
  const insecure = entry.get('insecure') === true;
  const { tenants, files } = { tenants: entry.get('tenants'), files: entry.get('files') ?? [] };
  const others = isTexts(files) ? files.map((each) => parseIndexUrl(each, insecure)) : [undefined];
  return {
    url: require(parseIndexUrl(entry.get('url'), insecure), 'url', ADDRESS),
    files: others.map((each) => require(each, 'files', `list of such addresses: ${ADDRESS}`)),
    username: require(checkText(
      entry.get('username') ?? '__token__',
      /^[^:]+$/,
    ), 'username', 'text without a colon'),
    password: require(checkText(entry.get('password'), /./), 'password', 'text'),
    ...(tenants !== undefined && {
      tenants: require(isTexts(tenants) ? tenants : undefined, 'tenants', 'list of texts'),
    }),
  };
}

const FIELDS = ['url', 'username', 'password', 'tenants', 'files', 'insecure'];
const ADDRESS = 'https address without a password ("insecure": true admits http)';
const checkText = (value: unknown, form: RegExp): string | undefined =>
  typeof value === 'string' && form.test(value) ? value : undefined;
const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');

function parseIndexUrl(given: unknown, insecure: boolean): URL | undefined {
  const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined || !(url.protocol === 'https:' || (insecure && url.protocol === 'http:')))
    return undefined;
  return url.username === '' && url.password === '' && url.search === '' && url.hash === ''
    ? url
    : undefined;
}

function toFolderUrl(url: URL): URL {
  return new URL(url.href.replace(/\/*$/, '/'));
}

/** Files often lie beside the folder "simple" of an index, so the folder above it counts. */
function getScopeUrl(url: URL): URL {
  const folder = toFolderUrl(url);
  return /\/\+?simple\/$/.test(folder.pathname) ? new URL('..', folder) : folder;
}

/** Returns the narrowest scope that holds an address. */
export function findIndexScope<T extends { url: URL }>(
  scopes: readonly T[],
  { origin, pathname }: URL,
): T | undefined {
  const isInside = ({ url }: T): boolean =>
    url.origin === origin && `${pathname}/`.startsWith(url.pathname) && isPlain(pathname, url);
  return scopes
    .filter(isInside)
    .toSorted((one, other) => other.url.pathname.length - one.url.pathname.length)[0];
}

/** A server may take an encoded slash or dot for a plain one, and so leave the scope. */
const isPlain = (pathname: string, { pathname: scope }: URL): boolean =>
  !/%2f|%5c|%2e|\\/i.test(pathname.slice(scope.length));

/** Returns the address in a build that stands for a real one; the real one where no scope holds it. */
export function toProxyAddress(url: URL, scopes: readonly (IndexScope & { at: string })[]): string {
  const scope = findIndexScope(scopes, url);
  return scope === undefined ? url.href : `${scope.at}/${url.href.slice(scope.url.href.length)}`;
}

/** Returns a text with addresses of the proxy in place of real ones, whose own credentials go with them. */
export function toProxiedText(text: string, scopes: readonly ProxiedScope[]): string {
  return scopes
    .toSorted((one, other) => other.real.length - one.real.length)
    .reduce((result, { real, at }) => {
      const [scheme = '', place = ''] = real.split('://');
      const address = new RegExp(
        `${scheme}://(?:[^\\s/@"'<>]*@)?${escapePattern(place)}(?=[/\\s"'#?,;)\\]]|$)`,
        'g',
      );
      return result.replaceAll(address, () => at);
    }, text);
}

/** Returns a text with real addresses in place of those of the proxy. */
export const toRealText = (text: string, scopes: readonly ProxiedScope[]): string =>
  scopes.reduce(
    (result, { real, at }) =>
      result.replaceAll(new RegExp(`${escapePattern(at)}(?![0-9])`, 'g'), () => real),
    text,
  );

const escapePattern = (text: string): string =>
  text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
