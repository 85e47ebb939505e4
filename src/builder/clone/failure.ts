import { StageFailed } from '../../errors.ts';

const KNOWN: readonly (readonly [
  printed: RegExp,
  reason: 'CloneFailed' | 'RefMissing',
  message: string,
])[] = [
  [
    /couldn't find remote ref|not our ref|no such remote ref|unadvertised object|not a valid object|Server does not allow request/i,
    'RefMissing',
    'The repository has no such branch, tag or commit',
  ],
  [
    /Load key/i,
    'CloneFailed',
    "The integration's ssh key can't be read: provide the whole key, without a passphrase",
  ],
  [
    /Authentication failed|could not read (Username|Password)|Permission denied|HTTP Basic: Access denied|returned error: 40[13]/i,
    'CloneFailed',
    'The git host refuses the credential: renew that of the integration, and let it read this repository',
  ],
  [
    /Host key verification failed/i,
    'CloneFailed',
    "The git host's key is not the one in known_hosts of the integration's Secret",
  ],
  [
    /not found|does not appear to be a git repository|does not exist/i,
    'CloneFailed',
    'The git host has no such repository, or the integration may not read it',
  ],
  [
    /Could not resolve host|Name or service not known|Connection refused|timed out|unable to access|Connection reset|too slow/i,
    'CloneFailed',
    'The git host does not answer: its name must be known in the cluster, and builds be allowed to reach it',
  ],
  [
    /transport '\w*' not allowed|not allowed/i,
    'CloneFailed',
    'Repositories are cloned by https and ssh only',
  ],
];

/** Returns the meaning of git's last lines. */
export function cloneFailure(last: string, url: string): StageFailed {
  const found = KNOWN.find(([printed]) => printed.test(last));
  const [, reason, message] = found ?? [
    undefined,
    'CloneFailed',
    "The repository can't be fetched",
  ];
  return new StageFailed(
    reason,
    `${message} (${url}). Git printed: ${last.trim().split('\n').slice(-4).join(' ').slice(0, 1000)}`,
  );
}
