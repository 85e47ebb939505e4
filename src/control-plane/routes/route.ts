import { Type, type TSchema } from 'typebox';
import { buildRouteMakers, type AnswerDescription } from '../../http/routes/route.ts';
import { buildUuidSchema } from '../../schema/types.ts';
import type { Caller } from '../caller.ts';

export const DeploymentPath = Type.Object({
  deployment_id: buildUuidSchema('Id of the deployment.'),
});
export const RevisionPath = Type.Object({
  ...DeploymentPath.properties,
  revision_id: buildUuidSchema('Id of the revision.'),
});

/** The headers of an answer that shows a deployment. */
export const specVersion = { etag: "Version of the deployment's spec, for If-Match." };

/** Failures that every route with a key may answer with. */
const failures = {
  401: { description: 'No key, or a wrong one.' },
  403: { description: 'The key does not permit this.' },
  422: { description: 'The request does not fit its schema.' },
  429: {
    description: 'Too many requests or too many streams; Retry-After says when to try again.',
  },
  431: { description: 'URL and headers are larger than 64 kB.' },
  503: { description: 'The cluster does not answer.' },
} satisfies Record<number, AnswerDescription>;
const notFound = { description: 'No such resource.' } satisfies AnswerDescription;
export const rejected = {
  description: 'The request breaks a rule; detail begins with the field.',
} satisfies AnswerDescription;

/** Describes an answer with one page of a list. */
export const describePage = (item: TSchema): AnswerDescription => ({
  description: 'One page.',
  schema: Type.Object({ resources: Type.Array(item), offset: Type.Integer() }),
});

/** Returns how routes of a tag are made. Those with a key share the failures above. One with an id may find nothing. */
export const buildRestRouteMakers = <Parts extends unknown[] = []>(tag: string) =>
  buildRouteMakers<Caller, Parts>(tag, ({ access, params }) =>
    access === 'open' ? {} : { ...failures, ...(params !== undefined && { 404: notFound }) },
  );
