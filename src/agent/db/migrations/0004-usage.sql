-- Calls of models, as runs report them. They outlive their runs and threads, so they name them without a reference.
create table gx.model_call (
  run_id uuid not null,
  -- The id that LangChain, or the graph, gave to the call.
  call_id text not null,
  thread_id uuid not null,
  assistant_id uuid,
  graph_id text not null,
  revision text,
  user_id text,
  node text,
  ns text,
  provider text,
  -- The model that has answered, and the one that was asked for where that is another.
  model text,
  asked text,
  tier text,
  started_at timestamptz not null,
  milliseconds integer not null,
  -- ok, error, or cut: the run ended before the model had answered.
  status text not null,
  cached boolean not null,
  -- False where the model reports no tokens, which is not zero.
  reported boolean not null,
  input integer not null default 0,
  output integer not null default 0,
  cache_read integer not null default 0,
  cache_write integer not null default 0,
  cache_write_1h integer not null default 0,
  reasoning integer not null default 0,
  audio_in integer not null default 0,
  audio_out integer not null default 0,
  -- Billionths of a US dollar. Null: nobody knows.
  cost_nano bigint,
  -- Where the price is from: the provider's own word, or the table of prices of a day.
  cost_from text,
  primary key (run_id, call_id)
);
create index model_call_started_at on gx.model_call using brin (started_at);
create index model_call_thread on gx.model_call (thread_id, started_at);
