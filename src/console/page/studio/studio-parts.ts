import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { StudioAgent } from './agent.ts';

/** The parts of the page that the studio is in: that of the console, or the one of `dev`. */
export type StudioParts = {
  agent: StudioAgent;
  /** Whether the reader may change things. */
  mayAct: boolean;
  /** The part that is shown: a section, or the id of a thread. */
  part: string;
  /** Returns the address of a part, and goes to it. */
  href(part: string): string;
  go(part: string): void;
  /** A sentence that says how the reader got the role that may not act. */
  readOnly: string;
};

const StudioContext = createContext<StudioParts | undefined>(undefined);
export const StudioProvider = StudioContext.Provider;

/** Returns the parts of the studio. */
export function useStudio(): StudioParts {
  const studio = useContext(StudioContext);
  if (studio === undefined) throw new TypeError('The page has no studio.');
  return studio;
}
