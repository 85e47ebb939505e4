import type { Entry, ToolUse } from './conversation.ts';
import type { ShownFile } from './files.ts';
import { paragraphsOf, wordsOf, type Piece } from './words.ts';

type Child = Node | string;

/** Makes an element. Values from the server become text, never markup. */
export function element(tag: string, attributes: Record<string, string> = {}, ...children: Child[]): HTMLElement {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const SPEAKERS = { you: 'You', agent: 'Agent', system: 'System', tool: 'Tool' } as const;
const TAGS: Record<Piece['kind'], string | undefined> = { plain: undefined, code: 'code', strong: 'strong' };

const shownPiece = ({ kind, text }: Piece): Child => (TAGS[kind] === undefined ? text : element(TAGS[kind], {}, text));

const shownText = (text: string): Child[] =>
  paragraphsOf(text).map((paragraph) =>
    paragraph.kind === 'code' ? element('pre', { tabindex: '0' }, paragraph.text) : element('p', {}, ...paragraph.pieces.map(shownPiece)),
  );

/** Shows a tool, folded: its name, and inside its arguments and its answer. */
function shownTool({ name, args, result, failed }: ToolUse): HTMLElement {
  const state = failed ? element('span', { class: 'failed' }, 'failed') : result === undefined ? 'works …' : 'answered';
  const asked = [element('h4', {}, 'Asked'), element('pre', { tabindex: '0' }, args)];
  const answered = result === undefined ? [] : [element('h4', {}, 'Answered'), element('pre', { tabindex: '0' }, result)];
  return element('details', { class: 'use' }, element('summary', {}, 'Tool ', element('b', {}, name), ' ', state), ...asked, ...answered);
}

/** Shows a picture, or a link to a file. Nothing is loaded from elsewhere before somebody follows the link. */
function shownFile({ kind, name, url }: ShownFile): HTMLElement {
  if (kind === 'picture') return element('p', {}, element('img', { src: url, alt: name }));
  const how: Record<string, string> = kind === 'bytes' ? { download: name } : { target: '_blank', rel: 'noreferrer' };
  return element('p', {}, element('a', { href: url, ...how }, name));
}

export const shownEntry = ({ speaker, text, files, tools }: Entry): HTMLElement =>
  element(
    'article',
    { class: `entry ${speaker}` },
    element('span', { class: 'unseen' }, `${SPEAKERS[speaker]}: `),
    ...shownText(text),
    ...files.map(shownFile),
    ...tools.map(shownTool),
  );

/** Shows, folded, the rest of the state. */
export const shownState = (state: object): HTMLElement =>
  element(
    'details',
    { class: 'state' },
    element('summary', {}, 'State'),
    element('pre', { tabindex: '0' }, JSON.stringify(state, null, 2)),
  );

export function shownQuestion(value: unknown, index: number): HTMLElement {
  const { text, details } = wordsOf(value);
  const id = `answer-${index}`;
  return element(
    'fieldset',
    {},
    element('label', { for: id }, text),
    ...(details === undefined ? [] : [element('pre', { tabindex: '0' }, details)]),
    element('input', { id, name: id, autocomplete: 'off', placeholder: 'Your answer: text, or JSON' }),
  );
}

/**
 * Shows a list of keyed elements. An element whose key and content are unchanged stays as it is, so that screen readers
 * hear only the changes, and unfolded elements stay unfolded.
 */
export class KeyedList {
  readonly #parent: HTMLElement;
  readonly #shown = new Map<string, { made: HTMLElement; content: string }>();

  constructor(parent: HTMLElement) {
    this.#parent = parent;
  }

  show<T>(items: T[], keyOf: (item: T) => string, make: (item: T) => HTMLElement): void {
    const keys = items.map(keyOf);
    for (const [key, { made }] of this.#shown)
      if (!keys.includes(key)) {
        made.remove();
        this.#shown.delete(key);
      }
    for (const [index, item] of items.entries()) {
      const made = this.#elementOf(keys[index]!, item, make);
      if (this.#parent.children[index] !== made) this.#parent.insertBefore(made, this.#parent.children[index] ?? null);
    }
  }

  #elementOf<T>(key: string, item: T, make: (item: T) => HTMLElement): HTMLElement {
    const content = JSON.stringify(item);
    const before = this.#shown.get(key);
    if (before?.content === content) return before.made;
    const made = make(item);
    if (before !== undefined) unfoldAsIn(before.made, made);
    before?.made.replaceWith(made);
    this.#shown.set(key, { made, content });
    return made;
  }
}

const foldsOf = (made: HTMLElement): HTMLDetailsElement[] => [
  ...(made instanceof HTMLDetailsElement ? [made] : []),
  ...made.querySelectorAll('details'),
];

function unfoldAsIn(before: HTMLElement, after: HTMLElement): void {
  const folds = foldsOf(after);
  for (const [index, { open }] of foldsOf(before).entries()) if (open) folds[index]?.setAttribute('open', '');
}
