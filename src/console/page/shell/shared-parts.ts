import { createContext } from 'preact';
import { useContext } from 'preact/hooks';

/** Returns a provider of parts for all that is drawn in it, and their reader, which throws the sentence elsewhere. */
export function createSharedParts<Parts>(missing: string) {
  const context = createContext<Parts | undefined>(undefined);
  const read = (): Parts => {
    const parts = useContext(context);
    if (parts === undefined) throw new TypeError(missing);
    return parts;
  };
  return [context.Provider, read] as const;
}
