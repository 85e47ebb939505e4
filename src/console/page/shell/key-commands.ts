/* The keys of the page. A single letter acts only where nothing is being typed, and may be turned off. */

export const KEY_COMMANDS = {
  filter: { keys: '/', does: 'Go to the filter of the list' },
  jump: { keys: 'Ctrl K', does: 'Go to a deployment by its name (on a Mac: Command K)' },
  deployments: { keys: 'g d', does: 'Go to the deployments' },
  next: { keys: 'j', does: 'Next row (also arrow down)' },
  previous: { keys: 'k', does: 'Previous row (also arrow up)' },
  open: { keys: 'Enter', does: 'Open the row' },
  up: { keys: 'u', does: 'One level up' },
  help: { keys: '?', does: 'Show this list' },
} as const;
/** The keys of the studio's own fields and lists, which act where the focus is. */
export const STUDIO_KEYS = [
  ['Enter', 'Studio: send the message (Shift+Enter breaks the line)'],
  ['← →', 'Studio: another view of the inspector, or its width'],
  ['↑ ↓', 'Studio: another checkpoint of the history'],
] as const;
export type KeyCommand = keyof typeof KEY_COMMANDS;

export type KeyPress = {
  key: string;
  before: string | undefined;
  isTyping: boolean;
  hasModifier: boolean;
  singleKeys: boolean;
  isControl?: boolean;
};

const BY_KEY: Record<string, KeyCommand> = {
  '/': 'filter',
  j: 'next',
  k: 'previous',
  u: 'up',
  '?': 'help',
  ArrowDown: 'next',
  ArrowUp: 'previous',
};
const ARROWS = ['ArrowDown', 'ArrowUp'];

/** Returns the command of a key, undefined where it has none. `before` is the letter just before it. */
export function findKeyCommand({
  key,
  before,
  isTyping,
  hasModifier,
  singleKeys,
  isControl = false,
}: KeyPress): KeyCommand | undefined {
  if (isControl && key === 'k') return 'jump';
  if (isTyping || hasModifier) return undefined;
  if (!singleKeys && !ARROWS.includes(key)) return undefined;
  if (before === 'g') return key === 'd' ? 'deployments' : undefined;
  return BY_KEY[key];
}
