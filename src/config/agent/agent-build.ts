import { SettingsReader, type Env } from '../env.ts';
import { readFileSections } from './gx-json.ts';
import { readPythonSettings } from './python.ts';

export type AgentBuildConfig = ReturnType<typeof readAgentBuildConfig>;

/** Milliseconds: the builder of an image can wait longer than a client. */
const WITHIN = 300_000;

/** Reads the settings of `agent-build`; those that the server has too are called the same. */
export function readAgentBuildConfig(env: Env) {
  const read = new SettingsReader(env);
  const config = {
    configPath: read.readText(['GX_CONFIG', 'GX_CONFIG_PATH'], './gx.json'),
    sections: readFileSections(read),
    logLevel: read.readText(['GX_LOG_LEVEL'], 'info'),
    folder: read.readRequired(
      ['GX_BUILD_FOLDER'],
      'the folder in which the server finds the results of the build',
    ),
    within: read.readInteger(
      ['GX_SCHEMA_RESOLVE_TIMEOUT_MS', 'LANGGRAPH_SCHEMA_RESOLVE_TIMEOUT_MS'],
      WITHIN,
      { min: 0, max: 600_000 },
    ),
    python: readPythonSettings(read),
  };
  read.finish();
  return config;
}
