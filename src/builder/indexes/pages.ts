/*
 * Pages of an index that name the files of a package (PEP 503 and 691). Their links are written in full.
 */

/** Returns a link in full, with another address where the link leads to an index. */
type Linked = (link: string) => string;

/** Returns the form of a page by its type; undefined for a file. */
export function pageForm(type: string): 'html' | 'json' | undefined {
  const [name = ''] = type.toLowerCase().split(';');
  if (/^(text\/html|application\/vnd\.pypi\.simple\.\w+\+html)$/.test(name.trim())) return 'html';
  return /^application\/vnd\.pypi\.simple\.\w+\+json$/.test(name.trim()) ? 'json' : undefined;
}

/** Returns a page with other links. A page that is no JSON stays as it is. */
export function withLinks(
  page: string,
  form: 'html' | 'json',
  { address, linked }: { address: URL; linked: (url: URL) => string },
): string {
  const base = form === 'html' ? baseOfPage(page, address) : address;
  const one: Linked = (link) => resolved(link, base, linked) ?? link;
  return form === 'html' ? htmlWith(page, one) : jsonWith(page, one);
}

function resolved(link: string, base: URL, linked: (url: URL) => string): string | undefined {
  const url = URL.parse(link, base.href);
  return url === null ? undefined : linked(url);
}

const TAG = /<a\b(?:[^>"']|"[^"]*"|'[^']*')*>/gi;
const BASE = /<base\b[^>]*?\bhref\s*=\s*["']?([^"'\s>]+)/i;
const HREF = /(\shref\s*=\s*)("[^"]*"|'[^']*'|[^\s"'>]+)/i;

function baseOfPage(page: string, address: URL): URL {
  const [, link = ''] = BASE.exec(page) ?? [];
  return URL.parse(link, address.href) ?? address;
}

const htmlWith = (page: string, linked: Linked): string =>
  page.replaceAll(TAG, (tag) =>
    tag.replace(HREF, (_, name: string, value: string) => {
      const link = value.replaceAll(/^["']|["']$/g, '').replaceAll(/&(amp|#38|#x26);/gi, '&');
      return `${name}"${linked(link.trim()).replaceAll('&', '&amp;').replaceAll('"', '%22')}"`;
    }),
  );

type File = { url?: unknown } | null;

function jsonWith(page: string, linked: Linked): string {
  let content: { files?: unknown } | null;
  try {
    content = JSON.parse(page) as { files?: unknown } | null;
  } catch {
    return page;
  }
  if (!Array.isArray(content?.files)) return page;
  const files = (content.files as File[]).map((file) => (typeof file?.url === 'string' ? { ...file, url: linked(file.url) } : file));
  return JSON.stringify({ ...content, files });
}
