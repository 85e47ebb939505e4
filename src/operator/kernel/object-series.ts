type Sample = { labels: Readonly<Record<string, string>>; value: number };

/**
 * The series of an object without their name: one line, or the labels that several have in common and then the rest of
 * each. A list takes more memory than a text.
 */
type Kept = string | readonly [common: string, ...rest: string[]];

/** Objects whose series are sent at once, some 20 KB. Larger texts would outlive the next small garbage collection. */
const AT_ONCE = 20;
/** Texts that are shared. A series that would be one more keeps its own. */
const SHARED = 10_000;

/**
 * A gauge whose series belong to objects. They are printed when their object changes, not at a scrape, because ten
 * thousand objects at once would hold up the event loop. An object that is gone takes its series along.
 */
export class ObjectSeries {
  readonly #name: string;
  readonly #help: string;
  readonly #lines = new Map<string, Kept>();
  readonly #shared = new Map<string, string>();

  constructor(name: string, help: string) {
    this.#name = name;
    this.#help = help;
  }

  /** Puts these samples in the place of those that the object had. The labels `common` name the object. */
  put(key: string, common: Readonly<Record<string, string>>, samples: readonly Sample[]): void {
    const rest = samples.map(({ labels, value }) => this.#rest(labels, value));
    if (rest.length === 0) this.#lines.delete(key);
    else this.#lines.set(key, rest.length === 1 ? [printed(common), ...rest].join('') : [printed(common), ...rest]);
  }

  /** Yields all series in the text format of Prometheus, those of some objects at a time. */
  *chunks(): Generator<string> {
    const name = this.#name;
    yield `# HELP ${name} ${this.#help}\n# TYPE ${name} gauge\n`;
    // Objects that change meanwhile must not come twice.
    const lines = [...this.#lines.values()];
    const text = (kept: Kept): string => {
      if (typeof kept === 'string') return `${name}{${kept}`;
      const [common, ...rest] = kept;
      return rest.map((one) => `${name}{${common}${one}`).join('');
    };
    for (let from = 0; from < lines.length; from += AT_ONCE)
      yield lines
        .slice(from, from + AT_ONCE)
        .map(text)
        .join('');
  }

  /** Ten thousand deployments have the same few states, so that their texts are kept once. */
  #rest(labels: Sample['labels'], value: number): string {
    const own = printed(labels);
    const text = `${own === '' ? '' : `,${own}`}} ${value}\n`;
    const known = this.#shared.get(text);
    if (known === undefined && value === 1 && this.#shared.size < SHARED) this.#shared.set(text, text);
    return known ?? text;
  }
}

/** A joined text is one piece of memory; a concatenated one keeps its pieces. */
const printed = (labels: Sample['labels']): string =>
  Object.entries(labels)
    .map(([name, text]) => [name, '="', escaped(text), '"'].join(''))
    .join(',');

const escaped = (text: string): string => (/[\\"\n]/.test(text) ? text.replaceAll(/[\\"]/g, '\\$&').replaceAll('\n', '\\n') : text);
