import { SettingsReader, type Env } from './env.ts';
import { fileSections } from './gx-json.ts';
import { pythonSettings } from './python.ts';

export type AgentBuildConfig = ReturnType<typeof agentBuildConfig>;

/** Milliseconds: the builder of an image can wait longer than a client. */
const WITHIN = 300_000;

/** Reads the settings of `agent-build`; those that the server has too are called the same. */
export function agentBuildConfig(env: Env) {
  const read = new SettingsReader(env);
  const config = {
    configPath: read.text(['GX_CONFIG', 'GX_CONFIG_PATH'], './gx.json'),
    sections: fileSections(read),
    logLevel: read.text(['GX_LOG_LEVEL'], 'info'),
    folder: read.required(['GX_BUILD_FOLDER'], 'the folder in which the server finds the results of the build'),
    within: read.integer(['GX_SCHEMA_RESOLVE_TIMEOUT_MS', 'LANGGRAPH_SCHEMA_RESOLVE_TIMEOUT_MS'], WITHIN, { min: 0, max: 600_000 }),
    python: pythonSettings(read),
  };
  read.finish();
  return config;
}
