/** The number of the thread's last event, as SQL; `t` is the thread's row. */
export const LAST_SEQ = `greatest(t.event_seq, coalesce((select e.thread_seq from gx.stream_event e
    where e.thread_id = t.thread_id and e.thread_seq is not null order by e.thread_seq desc limit 1), 0))`;

/** The same for a run `r` that publishes protocol events, else 0, which spares other runs the lookup. */
export const LAST_SEQ_FOR_RUN = `case when r.kwargs->'protocol' is null then 0 else ${LAST_SEQ} end`;
