import type { RevisionResource } from '../../schema/platform/resources/custom-resources.ts';
import { formatCanonicalJson } from '../../schema/canonical-json.ts';
import { parseImageRepository } from './image-name.ts';

/** The image of another revision, and the processors that run it, where its build named them. */
export type RepeatedImage = { image: string; architecture?: string | undefined };

/**
 * Returns the exact image that a rollback repeats, whatever its tag or branch means today. Undefined if the earlier
 * revision had none or asked for something else.
 */
export function findRepeatedImage(
  { spec }: RevisionResource,
  siblings: RevisionResource[],
): RepeatedImage | undefined {
  const former =
    spec.rollbackOf === undefined
      ? undefined
      : siblings.find(({ metadata }) => metadata.name === spec.rollbackOf);
  const formatSource = (revision: RevisionResource): string =>
    formatCanonicalJson(revision.spec.template.sourceRevisionConfig ?? {});
  if (
    former === undefined ||
    formatSource(former) !== formatCanonicalJson(spec.template.sourceRevisionConfig ?? {})
  )
    return undefined;
  const {
    image = former.spec.template.sourceRevisionConfig?.imageUri,
    imageDigest,
    imageArchitecture: architecture,
  } = former.status ?? {};
  const exact =
    image === undefined || imageDigest === undefined
      ? former.status?.image
      : `${parseImageRepository(image)}@${imageDigest}`;
  return exact === undefined ? undefined : { image: exact, architecture };
}
