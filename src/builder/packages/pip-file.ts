/* The settings of pip.conf (https://pip.pypa.io/en/stable/topics/configuration) as options of uv, which does not read it. */

const OPTIONS: Readonly<Record<string, string>> = {
  'index-url': '--default-index',
  'extra-index-url': '--index',
  'find-links': '--find-links',
  'trusted-host': '--allow-insecure-host',
};

/** pip takes the best version of all indexes; uv by itself stops at the first one that has the package. */
const AS_PIP = ['--index-strategy', 'unsafe-best-match'];

/** Settings that decide about no package. */
const WITHOUT_EFFECT = [
  'timeout',
  'retries',
  'cache-dir',
  'disable-pip-version-check',
  'no-cache-dir',
  'quiet',
  'progress-bar',
];

/** Returns options of uv. Sections `global` and `install` count; a value may have several lines. */
export function parseUvOptions(pipFile: string): {
  options: string[];
  /** Settings that uv has no option for. */ unknown: string[];
} {
  const options: string[] = [];
  const unknown: string[] = [];
  for (const [name, values] of parseSettings(pipFile)) {
    const option = OPTIONS[name];
    if (option !== undefined) options.push(...values.flatMap((value) => [option, value]));
    else if (name === 'no-index' && values[0] === 'true') options.push('--no-index');
    else if (!WITHOUT_EFFECT.includes(name)) unknown.push(name);
  }
  return { options: options.length === 0 ? [] : [...options, ...AS_PIP], unknown };
}

function parseSettings(pipFile: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  let section = '';
  let current: string[] = [];
  for (const line of pipFile.split('\n').map((each) => each.replace(/^\s*[#;].*/, '').trimEnd())) {
    const [, name] = /^\[(\w+)\]/.exec(line) ?? [];
    const [, key, value = ''] = /^([A-Za-z_-]+)\s*[=:]\s*(.*)$/.exec(line) ?? [];
    if (name !== undefined) section = name;
    else if (key !== undefined) {
      current = [];
      if (section === 'global' || section === 'install')
        found.set(key.toLowerCase().replaceAll('_', '-'), current);
      current.push(...value.split(/\s+/).filter(Boolean));
    } else current.push(...line.trim().split(/\s+/).filter(Boolean));
  }
  return found;
}
