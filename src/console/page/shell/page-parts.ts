import type { ReadonlySignal } from '@preact/signals';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Preferences } from './preferences.ts';

/** The parts that every page has: how its reader sees times, and a place for sentences. */
export type PageParts = {
  preferences: Preferences;
  /** The time, every ten seconds. */
  now: ReadonlySignal<number>;
  /** Shows a sentence for a while, and lets screen readers read it. */
  say(sentence: string): void;
};

const PageContext = createContext<PageParts | undefined>(undefined);
export const PageProvider = PageContext.Provider;

/** Returns the parts of the page. */
export function usePage(): PageParts {
  const page = useContext(PageContext);
  if (page === undefined) throw new TypeError('The page has no parts.');
  return page;
}
