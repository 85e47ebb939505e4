import { repositoryOf } from '../image-name.ts';

/** The image that a builder made, and its commit if the builder says so. */
export type Built = { image: string; commitSha?: string };

const DIGEST_OR_TAG = /^(:[\w][\w.-]{0,127})?(@sha256:[0-9a-f]{64})?$/;
const COMMIT = /^[0-9a-f]{7,64}$/;

/**
 * Reads the termination message of the builder: `{"image": ..., "commit": ...}`. Otherwise it returns a sentence on the
 * problem. Only the name that was asked for is accepted, because a build runs its author's commands, which must not
 * name somebody else's image.
 */
export function builtBy(message: string | undefined, target: string): Built | { problem: string } {
  const text = (message ?? '').trim();
  if (text === '') return { problem: 'The builder succeeded but named no image: its termination message is empty.' };
  const { image, commit } = fieldsOf(text);
  const repository = repositoryOf(target);
  const tail = typeof image === 'string' && image.startsWith(repository) ? image.slice(repository.length) : '';
  if (typeof image !== 'string' || tail === '' || !DIGEST_OR_TAG.test(tail))
    return { problem: `The builder named no image of ${repository}, but: ${text.slice(0, 500)}` };
  return { image, ...(typeof commit === 'string' && COMMIT.test(commit) && { commitSha: commit }) };
}

type Fields = { image?: unknown; commit?: unknown; builder?: unknown; reason?: unknown; message?: unknown };

/** Returns the fields of a termination message. One that is no JSON object has none. */
export function fieldsOf(message = ''): Fields {
  const text = message.trim();
  if (!text.startsWith('{')) return {};
  try {
    return JSON.parse(text) as Fields;
  } catch {
    return {};
  }
}
