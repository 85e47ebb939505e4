import type { ReadonlySignal } from '@preact/signals';
import { createSharedParts } from './shared-parts.ts';
import type { Preferences } from './preferences.ts';

/** The parts that every page has: how its reader sees times, and a place for sentences. */
export type PageParts = {
  preferences: Preferences;
  /** The time, every ten seconds. */
  now: ReadonlySignal<number>;
  /** Shows a sentence for a while, and lets screen readers read it. */
  announce(sentence: string): void;
};

/** Shares the parts of the page. */
export const [PageProvider, usePage] = createSharedParts<PageParts>('The page has no parts.');
