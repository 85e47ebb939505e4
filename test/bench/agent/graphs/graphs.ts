import * as langgraph from '@langchain/langgraph';
import { echo as makeEcho, talk as makeTalk } from './define.ts';

export const echo = makeEcho(langgraph);
export const talk = makeTalk(langgraph);
