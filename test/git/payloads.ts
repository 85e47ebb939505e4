/*
 * Push events in the form of each host's public documentation, with the fields that are read and some beside them.
 * GitHub: docs.github.com, "Webhook events and payloads", push. GitLab: docs.gitlab.com, "Webhook events", push events.
 * Gitea: docs.gitea.com, "Webhooks", event information.
 */
export const BEFORE = 'a'.repeat(40);
export const AFTER = 'b'.repeat(40);
const NOTHING = '0'.repeat(40);
type Payload = Record<string, unknown>;

const commit = {
  id: AFTER,
  message: 'Update agent',
  timestamp: '2026-01-01T10:00:00Z',
  url: 'https://host/acme/agent/commit/b',
};

export const github = (more: Payload = {}): Payload => ({
  ref: 'refs/heads/main',
  before: BEFORE,
  after: AFTER,
  repository: {
    id: 186853002,
    name: 'agent',
    full_name: 'acme/agent',
    private: true,
    html_url: 'https://github.com/acme/agent',
    clone_url: 'https://github.com/acme/agent.git',
    ssh_url: 'git@github.com:acme/agent.git',
    default_branch: 'main',
  },
  pusher: { name: 'octocat', email: 'octocat@example.com' },
  sender: { login: 'octocat', id: 1 },
  created: false,
  deleted: false,
  forced: false,
  base_ref: null,
  compare: 'https://github.com/acme/agent/compare/a...b',
  commits: [commit],
  head_commit: commit,
  ...more,
});

export const gitlab = (more: Payload = {}): Payload => ({
  object_kind: 'push',
  event_name: 'push',
  before: BEFORE,
  after: AFTER,
  ref: 'refs/heads/main',
  ref_protected: true,
  checkout_sha: AFTER,
  user_id: 4,
  user_username: 'jsmith',
  project_id: 15,
  project: {
    id: 15,
    name: 'Agent',
    web_url: 'https://gitlab.com/acme/agent',
    git_http_url: 'https://gitlab.com/acme/agent.git',
    git_ssh_url: 'git@gitlab.com:acme/agent.git',
    path_with_namespace: 'acme/agent',
    default_branch: 'main',
  },
  commits: [commit],
  total_commits_count: 1,
  ...more,
});

export const gitea = (more: Payload = {}): Payload => ({
  ref: 'refs/heads/main',
  before: BEFORE,
  after: AFTER,
  compare_url: 'https://gitea.example/acme/agent/compare/a...b',
  commits: [commit],
  head_commit: commit,
  total_commits: 1,
  repository: {
    id: 140,
    owner: { id: 1, login: 'acme' },
    name: 'agent',
    full_name: 'acme/agent',
    html_url: 'https://gitea.example/acme/agent',
    clone_url: 'https://gitea.example/acme/agent.git',
    default_branch: 'main',
  },
  pusher: { id: 1, login: 'octocat' },
  sender: { id: 1, login: 'octocat' },
  ...more,
});

export const generic = (more: Payload = {}): Payload => ({
  ref: 'refs/heads/main',
  after: AFTER,
  repository: { full_name: 'acme/agent' },
  ...more,
});

export const deleted = { after: NOTHING, deleted: true };
export const HEADERS = {
  github: { 'x-github-event': 'push', 'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958' },
  gitlab: { 'x-gitlab-event': 'Push Hook' },
  gitea: { 'x-gitea-event': 'push', 'x-gitea-delivery': 'f6266f16-1bf3-46a5-9ea4-602e06ead473' },
  generic: {},
};
export const PAYLOADS = { github, gitlab, gitea, generic };
