import { createSharedParts } from '../shell/shared-parts.ts';
import type { StudioAgent } from './agent.ts';

/** The parts of the page that the studio is in: that of the console, or the one of `dev`. */
export type StudioParts = {
  agent: StudioAgent;
  mayAct: boolean;
  /** The part that is shown: a section, or the id of a thread. */
  part: string;
  href(part: string): string;
  go(part: string): void;
  /** A sentence that says how the reader got the role that may not act. */
  readOnly: string;
};

export const [StudioProvider, useStudio] =
  createSharedParts<StudioParts>('The page has no studio.');
