import { createLog, type Log } from '../../src/log.ts';

export const silentLog = (): Log => createLog({ level: 'silent', process: 'test' });
