import { names } from '../../../schema/names.ts';
import type { DeploymentResource } from '../../../schema/platform/resources/custom-resources.ts';
import { ARCHIVE_FOLDER } from '../../../schema/wire/pgbackrest.ts';

const ARCHIVE = 'archive';

/**
 * The folder with the files of pgBackRest in the pod of a database. Their Secret may be missing, and comes and goes
 * while the pod runs: a database that has no copies does not restart to get some.
 */
export const buildArchiveMount = ({ metadata }: DeploymentResource) => ({
  volume: {
    name: ARCHIVE,
    secret: { secretName: names.archive(metadata.name), defaultMode: 0o440, optional: true },
  },
  mount: { name: ARCHIVE, mountPath: ARCHIVE_FOLDER, readOnly: true },
});
