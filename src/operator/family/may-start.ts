import type { RevisionWorld } from '../revision/observe.ts';

type Seen = Pick<RevisionWorld, 'deployment' | 'address' | 'databaseReady'>;

/** Nothing serves yet that new pods could disturb (pure). */
export const isAlone = ({ deployment }: Pick<Seen, 'deployment'>): boolean => deployment?.status?.activeRevision === undefined;

/**
 * Whether a revision's pods may be made (pure): once the database takes connections. Where nothing serves yet they start beside it, so that
 * images are pulled and volumes attached meanwhile; the server waits for its database.
 */
export const mayStart = (seen: Seen): boolean => seen.address !== undefined && (seen.databaseReady || isAlone(seen));
