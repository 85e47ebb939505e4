import { computed, signal, type ReadonlySignal } from '@preact/signals';
import {
  parsePagePath,
  buildPagePath,
  type Located,
  type PlaceName,
  type PlaceParameters,
} from './routes.ts';

/** The address of the page: real paths below the base of the document, which stands below any prefix. */
export class Router {
  readonly #address = signal<{ path: string; search: string }>({ path: '', search: '' });
  readonly located: ReadonlySignal<Located>;
  readonly query: ReadonlySignal<URLSearchParams>;
  readonly path: ReadonlySignal<string>;
  readonly #root: string;

  constructor() {
    this.#root = new URL(document.baseURI).pathname;
    this.located = computed(() => parsePagePath(this.#address.value.path));
    this.path = computed(() => this.#address.value.path);
    this.query = computed(() => new URLSearchParams(this.#address.value.search));
    this.#read();
  }

  /** Follows the buttons of the browser and the links of the page. */
  listen(): void {
    addEventListener('popstate', () => this.#read());
    addEventListener('click', (event) => this.#follow(event));
  }

  /** Returns the address of a place, relative to the base of the document. */
  buildHref<Name extends PlaceName>(name: Name, parameters: PlaceParameters<Name>): string {
    return buildPagePath(name, parameters, this.located.value.tenant);
  }

  visit<Name extends PlaceName>(name: Name, parameters: PlaceParameters<Name>): void {
    this.visitHref(this.buildHref(name, parameters));
  }

  visitHref(href: string): void {
    history.pushState({}, '', new URL(href, document.baseURI));
    this.#read();
  }

  /** Changes the query of the address. A filter that is typed makes no entry in the history for each letter. */
  replaceQuery(query: URLSearchParams): void {
    const url = new URL(location.href);
    url.search = query.toString();
    history.replaceState(history.state, '', url);
    this.#read();
  }

  #read(): void {
    const { pathname, search } = location;
    const path = pathname.startsWith(this.#root) ? pathname.slice(this.#root.length) : '';
    this.#address.value = { path, search };
  }

  #follow(event: MouseEvent): void {
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (
      link === null ||
      event.defaultPrevented ||
      !isPlain(event) ||
      link.target !== '' ||
      link.hasAttribute('download')
    )
      return;
    const url = new URL(link.href);
    if (url.origin !== location.origin || !url.pathname.startsWith(this.#root)) return;
    event.preventDefault();
    this.visitHref(url.href);
  }
}

/** Returns whether a click asks for nothing else, such as a tab of its own. */
const isPlain = (event: MouseEvent): boolean =>
  event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
