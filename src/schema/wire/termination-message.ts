import { limitText } from '../../errors.ts';

/**
 * Bytes of a termination message. Kubernetes keeps 12 KiB for all containers of a pod, in equal shares: this is the
 * share where a mesh's container stands beside the five of a build.
 */
const LONGEST_BYTES = 2048;
/** Characters of a word that is not worth cutting. */
const SHORT = 8;

/** Returns a termination message as JSON that Kubernetes does not cut: of a long one, the longest sentence is cut. */
export function formatTerminationMessage(message: object): string {
  const text = JSON.stringify(message);
  if (Buffer.byteLength(text) <= LONGEST_BYTES) return text;
  const sentences = Object.entries(message).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  const [longest] = sentences.toSorted(([, a], [, b]) => b.length - a.length);
  if (longest === undefined || longest[1].length < SHORT) return text;
  const [name, words] = longest;
  // Escapes may make a character six bytes long, so the sentence is halved until all fits.
  return formatTerminationMessage({
    ...message,
    [name]: limitText(words, Math.floor(words.length / 2)),
  });
}
