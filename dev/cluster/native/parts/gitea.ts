import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { getStatePaths, type Layout } from '../layout.ts';
import type { NodePart } from '../node-part.ts';

/** The port at which Gitea answers, at the node's address. */
export const GITEA_PORT = 3001;

/** The name by which pods reach Gitea, over plain HTTP. */
export const GITEA = `git.gx-platform.local:${GITEA_PORT}`;

/** The settings of Gitea, which its command line reads too. */
export const getGiteaSettingsPath = (layout: Layout): string =>
  getStatePaths(layout).config('gitea.ini');

/** Runs Gitea, for tests of builds with a git host that others use. */
export const gitea: NodePart = {
  extra: 'gitea',
  files: ({ layout }) => ({ [getGiteaSettingsPath(layout)]: formatSettings(layout) }),
  processes: (layout) => [
    { name: 'gitea', tool: 'gitea', args: ['web', '--config', getGiteaSettingsPath(layout)] },
  ],
};

const createSecret = (): string => randomBytes(32).toString('base64url');

// Only pods and this machine reach it, it is made again with the cluster, and it runs as the node does: as root.
const formatSettings = (layout: Layout): string => `APP_NAME = Git
RUN_USER = root
RUN_MODE = prod
WORK_PATH = ${getStatePaths(layout).gitea}
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
[server]
HTTP_ADDR = 0.0.0.0
HTTP_PORT = ${GITEA_PORT}
ROOT_URL = http://${GITEA}/
LOCAL_ROOT_URL = http://127.0.0.1:${GITEA_PORT}/
DISABLE_SSH = true
OFFLINE_MODE = true
LFS_JWT_SECRET = ${createSecret()}
[database]
DB_TYPE = sqlite3
PATH = ${join(getStatePaths(layout).gitea, 'gitea.db')}
SQLITE_JOURNAL_MODE = WAL
[security]
INSTALL_LOCK = true
SECRET_KEY = ${createSecret()}
INTERNAL_TOKEN = ${createSecret()}
[oauth2]
ENABLED = false
JWT_SECRET = ${createSecret()}
[service]
DISABLE_REGISTRATION = true
[repository]
DEFAULT_BRANCH = main
ENABLE_PUSH_CREATE_USER = true
DEFAULT_PRIVATE = private
[webhook]
ALLOWED_HOST_LIST = *
[actions]
ENABLED = false
[indexer]
ISSUE_INDEXER_TYPE = db
[session]
PROVIDER = memory
[log]
LEVEL = warn
[cron]
ENABLED = false
`;
