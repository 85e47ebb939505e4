import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { fileOf, type Layout } from '../layout.ts';
import type { NodePart } from '../node-part.ts';

/** The port at which the git host answers, at the node's address. */
export const GIT_PORT = 3000;

/** The name by which pods reach the git host of a native cluster, over plain HTTP. */
export const GIT_HOST = `git.gx-platform.local:${GIT_PORT}`;

/** The settings of the git host, which its command line reads too. */
export const gitHostSettings = (layout: Layout): string => fileOf(layout).config('git-host.ini');

/** Runs Gitea, so that a deployment can be built from a repository without any host elsewhere. */
export const gitHost: NodePart = {
  comesLater: true,
  files: ({ layout }) => ({ [gitHostSettings(layout)]: settings(layout) }),
  processes: (layout) => [{ name: 'git-host', tool: 'gitea', args: ['web', '--config', gitHostSettings(layout)] }],
};

const secret = (): string => randomBytes(32).toString('base64url');

// Only pods and this machine reach it, it is made again with the cluster, and it runs as the node does: as root.
const settings = (layout: Layout): string => `APP_NAME = Git
RUN_USER = root
RUN_MODE = prod
WORK_PATH = ${fileOf(layout).gitHost}
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
[server]
HTTP_ADDR = 0.0.0.0
HTTP_PORT = ${GIT_PORT}
ROOT_URL = http://${GIT_HOST}/
LOCAL_ROOT_URL = http://127.0.0.1:${GIT_PORT}/
DISABLE_SSH = true
OFFLINE_MODE = true
LFS_JWT_SECRET = ${secret()}
[database]
DB_TYPE = sqlite3
PATH = ${join(fileOf(layout).gitHost, 'git-host.db')}
SQLITE_JOURNAL_MODE = WAL
[security]
INSTALL_LOCK = true
SECRET_KEY = ${secret()}
INTERNAL_TOKEN = ${secret()}
[oauth2]
ENABLED = false
JWT_SECRET = ${secret()}
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
