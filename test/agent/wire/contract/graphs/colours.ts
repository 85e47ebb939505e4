const WORDS = ['red', 'green', 'blue'];

/** Counts how often each of three words occurs in a text. */
export const embed = (texts: string[]): Promise<number[][]> =>
  Promise.resolve(texts.map((text) => WORDS.map((word) => text.split(word).length - 1)));
