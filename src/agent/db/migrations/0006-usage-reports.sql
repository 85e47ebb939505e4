-- The sums of whole days of UTC. They stay when the calls are deleted. A call of the days after the last one here is
-- still to be summed.
create table gx.usage_day (
  day date not null,
  assistant_id uuid,
  graph_id text not null,
  user_id text,
  revision text,
  provider text,
  model text,
  calls bigint not null,
  failed bigint not null,
  cached bigint not null,
  unreported bigint not null,
  unpriced bigint not null,
  input bigint not null,
  output bigint not null,
  cache_read bigint not null,
  cache_write bigint not null,
  reasoning bigint not null,
  cost_nano bigint
);
create index usage_day_day on gx.usage_day (day);

-- What reports and dashboards read. Columns are only ever added, and docs/reference/agent-server/usage.md has each one.
create schema gx_report;

create view gx_report.model_calls as
  select run_id, call_id, thread_id, assistant_id, graph_id, revision, user_id, node, ns as namespace, provider, model,
    asked as asked_model, tier, started_at, milliseconds / 1000.0 as seconds, status, cached, reported,
    input as input_tokens, output as output_tokens, cache_read as cache_read_tokens,
    cache_write::bigint + cache_write_1h as cache_write_tokens, reasoning as reasoning_tokens,
    cost_nano / 1000000000.0 as cost_usd, cost_from
  from gx.model_call;

create view gx_report.runs as
  select run_id, thread_id, assistant_id, graph_id, revision, status, attempt as attempts, created_at, started_at,
    ended_at, extract(epoch from ended_at - started_at) as seconds,
    coalesce((usage->>'calls')::bigint, 0) as calls,
    coalesce((usage->>'failed')::bigint, 0) as failed_calls,
    coalesce((usage->>'unreported')::bigint, 0) as unreported_calls,
    coalesce((usage->>'unpriced')::bigint, 0) as unpriced_calls,
    coalesce((usage->>'input')::bigint, 0) as input_tokens,
    coalesce((usage->>'output')::bigint, 0) as output_tokens,
    (usage->>'cost_usd')::numeric as cost_usd
  from gx.run;

create view gx_report.threads as
  select t.thread_id, t.created_at, t.updated_at, coalesce(u.calls, 0) as calls,
    coalesce(u.unreported_calls, 0) as unreported_calls, coalesce(u.unpriced_calls, 0) as unpriced_calls,
    coalesce(u.input_tokens, 0) as input_tokens, coalesce(u.output_tokens, 0) as output_tokens, u.cost_usd
  from gx.thread t left join (
    select thread_id, count(*) as calls, count(*) filter (where not reported) as unreported_calls,
      count(*) filter (where cost_usd is null) as unpriced_calls, sum(input_tokens) as input_tokens,
      sum(output_tokens) as output_tokens, sum(cost_usd) as cost_usd
    from gx_report.model_calls group by thread_id) u using (thread_id);

create view gx_report.days as
  select day, assistant_id, graph_id, user_id, revision, provider, model, calls, failed as failed_calls,
    cached as cached_calls, unreported as unreported_calls, unpriced as unpriced_calls, input as input_tokens,
    output as output_tokens, cache_read as cache_read_tokens, cache_write as cache_write_tokens,
    reasoning as reasoning_tokens, cost_nano / 1000000000.0 as cost_usd
  from gx.usage_day
  union all
  select (started_at at time zone 'UTC')::date, assistant_id, graph_id, user_id, revision, provider, model, count(*),
    count(*) filter (where status <> 'ok'), count(*) filter (where cached), count(*) filter (where not reported),
    count(*) filter (where cost_nano is null), sum(input), sum(output), sum(cache_read),
    sum(cache_write::bigint + cache_write_1h), sum(reasoning), sum(cost_nano) / 1000000000.0
  from gx.model_call
  where started_at >= (select coalesce(max(day) + 1, '-infinity')::timestamp at time zone 'UTC' from gx.usage_day)
  group by 1, 2, 3, 4, 5, 6, 7;

create view gx_report.assistants as
  select d.day, d.assistant_id, a.name, d.graph_id, sum(d.calls) as calls, sum(d.unreported_calls) as unreported_calls,
    sum(d.unpriced_calls) as unpriced_calls, sum(d.input_tokens) as input_tokens, sum(d.output_tokens) as output_tokens,
    sum(d.cost_usd) as cost_usd
  from gx_report.days d left join gx.assistant a using (assistant_id) group by d.day, d.assistant_id, a.name, d.graph_id;

create view gx_report.users as
  select day, user_id, sum(calls) as calls, sum(unreported_calls) as unreported_calls,
    sum(unpriced_calls) as unpriced_calls, sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
    sum(cost_usd) as cost_usd
  from gx_report.days group by day, user_id;
