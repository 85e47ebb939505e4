/*
 * Pages of an index that name the files of a package (PEP 503 and 691). Their links are written in full.
 */

/** Returns a link in full, with another address where the link leads to an index. */
type Linked = (link: string) => string;

/** Returns the form of a page by its type; undefined for a file. */
export function readPageForm(type: string): 'html' | 'json' | undefined {
  const [name = ''] = type.toLowerCase().split(';');
  if (/^(text\/html|application\/vnd\.pypi\.simple\.\w+\+html)$/.test(name.trim())) return 'html';
  return /^application\/vnd\.pypi\.simple\.\w+\+json$/.test(name.trim()) ? 'json' : undefined;
}

/** Returns a page with other links. A page that is no JSON stays as it is. */
export function replaceLinks(
  page: string,
  form: 'html' | 'json',
  { address, linked }: { address: URL; linked: (url: URL) => string },
): string {
  const base = form === 'html' ? readPageBase(page, address) : address;
  const convertLink: Linked = (link) => resolveLink(link, base, linked) ?? link;
  return form === 'html'
    ? replaceHtmlLinks(page, convertLink)
    : replaceJsonLinks(page, convertLink);
}

function resolveLink(link: string, base: URL, linked: (url: URL) => string): string | undefined {
  const url = URL.parse(link, base.href);
  return url === null ? undefined : linked(url);
}

const HREF = /(\shref\s*=\s*)("[^"]*"|'[^']*'|[^\s"'>]+)/i;
const UNQUOTED = /^["']|["']$/g;

/**
 * Finds the tags of a name in one pass, whatever the page holds. One that never ends takes the rest of the page, as it
 * does for pip.
 */
function* listTags(
  name: string,
  page: string,
): Generator<{ first: number; end: number; tag: string }> {
  const opening = new RegExp(`<${name}\\b`, 'gi');
  for (let found = opening.exec(page); found !== null; found = opening.exec(page)) {
    const end = findTagEnd(page, opening.lastIndex);
    if (end === undefined) return;
    yield { first: found.index, end, tag: page.slice(found.index, end) };
    opening.lastIndex = end;
  }
}

/** Returns the place behind the `>` that ends a tag, which is not one between quotes. */
function findTagEnd(page: string, from: number): number | undefined {
  const stop = /[>"']/g;
  stop.lastIndex = from;
  for (let found = stop.exec(page); found !== null; found = stop.exec(page)) {
    if (found[0] === '>') return stop.lastIndex;
    const closing = page.indexOf(found[0], stop.lastIndex);
    if (closing < 0) return undefined;
    stop.lastIndex = closing + 1;
  }
  return undefined;
}

function readPageBase(page: string, address: URL): URL {
  for (const { tag } of listTags('base', page)) {
    const [, , link] = HREF.exec(tag) ?? [];
    if (link !== undefined)
      return URL.parse(link.replaceAll(UNQUOTED, '').trim(), address.href) ?? address;
  }
  return address;
}

function replaceHtmlLinks(page: string, linked: Linked): string {
  const pieces: string[] = [];
  let copied = 0;
  for (const { first, end, tag } of listTags('a', page)) {
    const relinked = tag.replace(HREF, (_, name: string, value: string) => {
      const link = value.replaceAll(UNQUOTED, '').replaceAll(/&(amp|#38|#x26);/gi, '&');
      return `${name}"${linked(link.trim()).replaceAll('&', '&amp;').replaceAll('"', '%22')}"`;
    });
    pieces.push(page.slice(copied, first), relinked);
    copied = end;
  }
  return [...pieces, page.slice(copied)].join('');
}

function replaceJsonLinks(page: string, linked: Linked): string {
  let content: { files?: unknown } | null;
  try {
    content = JSON.parse(page) as { files?: unknown } | null;
  } catch {
    return page;
  }
  if (!Array.isArray(content?.files)) return page;
  const files = (content.files as ({ url?: unknown } | null)[]).map((file) =>
    typeof file?.url === 'string' ? { ...file, url: linked(file.url) } : file,
  );
  return JSON.stringify({ ...content, files });
}
