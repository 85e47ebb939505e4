import type { ObjectMeta } from '../../../schema/platform/objects/object-meta.ts';
import type { JsonPatch } from '../../../kube/kube.ts';
import { GROUP } from '../../../schema/platform/objects/api-group.ts';
import { CLAIM_WORDS } from '../../../schema/platform/objects/labels.ts';
import type { GivenWords } from '../../../schema/platform/objects/object-keys.ts';
import { formatCanonicalJson } from '../../../schema/canonical-json.ts';
import { buildSetStep } from '../../objects/ownership.ts';

type Words = Record<string, string>;

/**
 * Returns the patch by which an object has these words instead of those that it was given before. An annotation names
 * the keys, those of labels before a semicolon. Words of others stay.
 */
export function buildLabelPatch(
  { metadata }: { metadata: ObjectMeta },
  words: GivenWords,
): JsonPatch {
  const { [CLAIM_WORDS]: noted = '', ...annotations } = metadata.annotations ?? {};
  const [ofLabels = '', ofAnnotations = ''] = noted.split(';');
  const labels = replaceKeys(metadata.labels ?? {}, ofLabels, words.labels);
  const others = replaceKeys(annotations, ofAnnotations, words.annotations);
  const note = [labels.keys, others.keys].join(';');
  const noting = note === ';' ? others.words : { ...others.words, [CLAIM_WORDS]: note };
  if (
    formatCanonicalJson([metadata.labels ?? {}, metadata.annotations ?? {}]) ===
    formatCanonicalJson([labels.words, noting])
  )
    return [];
  return [
    { op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
    buildSetStep('/metadata/labels', labels.words),
    buildSetStep('/metadata/annotations', noting),
  ];
}

/** Replaces the words of the given keys. A key that somebody else has written is theirs. */
function replaceKeys(live: Words, given: string, wanted: Words): { words: Words; keys: string } {
  const keys = given.split(',');
  const others = Object.entries(live).filter(
    ([key]) => !keys.includes(key) || key.startsWith(`${GROUP}/`),
  );
  const kept = Object.fromEntries(others);
  const added = Object.entries(wanted).filter(([key]) => !(key in kept));
  return {
    words: { ...kept, ...Object.fromEntries(added) },
    keys: added.map(([key]) => key).join(','),
  };
}
