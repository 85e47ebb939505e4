import { effect, signal, type Signal } from '@preact/signals';
import { TIME_MODES, type TimeMode } from './time-text.ts';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];
const ON_OFF = ['on', 'off'] as const;

/** The choices of a reader about the page. This browser keeps them; no server hears of them. */
export type Preferences = {
  theme: Signal<Theme>;
  time: Signal<TimeMode>;
  singleKeys: Signal<'on' | 'off'>;
};

/** Reads the choices, applies the theme, and keeps each change. */
export function createPreferences(): Preferences {
  const theme = createStoredSignal<Theme>('theme', THEMES, 'system');
  effect(() => {
    document.documentElement.dataset['theme'] = theme.value;
  });
  return {
    theme,
    time: createStoredSignal<TimeMode>('time', TIME_MODES, 'relative'),
    singleKeys: createStoredSignal<'on' | 'off'>('keys', ON_OFF, 'on'),
  };
}

function createStoredSignal<Value extends string>(
  name: string,
  values: readonly Value[],
  usual: Value,
): Signal<Value> {
  const key = `gx-console-${name}`;
  const chosen = signal<Value>(values.find((one) => one === readStored(key)) ?? usual);
  effect(() => store(key, chosen.value));
  return chosen;
}

/** A browser may refuse storage. The choice then lasts as long as the page. */
function readStored(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

function store(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // The choice is lost with the page.
  }
}
