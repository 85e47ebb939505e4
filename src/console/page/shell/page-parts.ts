import type { ReadonlySignal } from '@preact/signals';
import { createSharedParts } from './shared-parts.ts';
import type { Preferences } from './preferences.ts';

/** The parts that every page has: how its reader sees times, and a place for sentences. */
export type PageParts = {
  preferences: Preferences;
  /** The time, every ten seconds. */
  now: ReadonlySignal<number>;
  announce(sentence: string): void;
};

export const [PageProvider, usePage] = createSharedParts<PageParts>('The page has no parts.');
