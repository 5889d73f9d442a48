-- Jobs that failed the last time, a few among several for each account: health, the figures for Prometheus and a look of each
-- process once a minute ask for them.
CREATE INDEX maintenance_failing ON maintenance_jobs(failures DESC, account_id, job) WHERE failures > 0;
