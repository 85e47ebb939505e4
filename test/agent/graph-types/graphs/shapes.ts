import type { AIMessage, BaseMessage } from '@langchain/core/messages';
import { Annotation, START, StateGraph } from '@langchain/langgraph';

type Tree = { name: string; children: Tree[] };
type Leaf = { leaf: boolean } | { more: Leaf };
type Json = string | number | null | Json[] | { [key: string]: Json };
type Nest<T> = T | Nest<T>[];
type Box<T> = { held: T; other?: Box<T[]> };
enum Size {
  Small = 1,
  Large = 2,
}
interface Base {
  /** When it was made. */
  made: Date;
}
interface Item extends Base {
  key: `item-${number}`;
  run(): void;
}
class Secretive {
  shown = 1;
  private hidden = 2;
  #closed = this.hidden;
  read = (): number => this.#closed;
}

const State = Annotation.Root({
  text: Annotation<string>(),
  maybe: Annotation<string | undefined>(),
  orNull: Annotation<number | null>(),
  yes: Annotation<true>(),
  flag: Annotation<boolean>(),
  choice: Annotation<'a' | 'b' | 7 | boolean>(),
  size: Annotation<Size>(),
  big: Annotation<bigint>(),
  anything: Annotation<unknown>(),
  pair: Annotation<[number, string?]>(),
  rest: Annotation<[number, ...string[]]>(),
  frozen: Annotation<readonly number[]>(),
  record: Annotation<Record<string, number>>(),
  map: Annotation<Map<string, number>>(),
  call: Annotation<() => void>(),
  tree: Annotation<Tree>(),
  leaf: Annotation<Leaf>(),
  json: Annotation<Json>(),
  nest: Annotation<Nest<number>>(),
  box: Annotation<Box<string>>(),
  item: Annotation<Item>(),
  both: Annotation<Base & { extra: string }>(),
  part: Annotation<Partial<Item>>(),
  secretive: Annotation<Secretive>(),
  last: Annotation<AIMessage | null>(),
  history: Annotation<BaseMessage[]>(),
});

export const graph = new StateGraph(State)
  .addNode('a', () => ({}))
  .addEdge(START, 'a')
  .compile();
