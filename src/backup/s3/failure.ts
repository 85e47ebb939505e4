import { StageFailed } from '../../errors.ts';
import { readXmlText } from './xml.ts';

/** A backup that failed, with the reason that its deployment's condition gets. */
export class BackupFailed extends StageFailed {
  override name = 'BackupFailed';
}

type Answer = { status: number; body: string };
/** Words by which stores say that they are full. */
const FULL =
  /NoSpace|StorageFull|QuotaExceeded|InsufficientStorage|InsufficientCapacity|no space left/i;

/** Returns true for an answer that another attempt may change. */
export const mayPass = ({ status, body }: Answer): boolean =>
  (status >= 500 || status === 429) && !isFull({ status, body });

const isFull = ({ status, body }: Answer): boolean => status === 507 || FULL.test(body);

/** Returns the failure that an answer of the store means, with the store's own words. */
export function storeFailure(what: string, { status, body }: Answer): BackupFailed {
  const quoted = [readXmlText(body, 'Code'), readXmlText(body, 'Message')]
    .filter((part) => part !== undefined)
    .join(': ');
  const words = `The store answers ${status}${quoted === '' ? '' : ` (${quoted.slice(0, 500)})`} to ${what}.`;
  if (isFull({ status, body })) return new BackupFailed('NoRoom', words);
  if (readXmlText(body, 'Code') === 'NoSuchBucket') return new BackupFailed('TargetMissing', words);
  return new BackupFailed(
    status >= 500 || status === 429 ? 'TargetUnreachable' : 'TargetRefused',
    words,
  );
}
