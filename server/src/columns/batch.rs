//! Jobs and what starts them.

use std::borrow::Cow;

use jiff::Timestamp;

use super::format::{self, NONE};
use super::row::{Cell, Row};
use super::tree::Object;
use super::{BuiltIn, Column, ColumnKind, SPEC_AND_STATUS, age};

const CONTAINERS: Column = Column::wide("Containers", "The names of the template's containers.");
const IMAGES: Column = Column::wide("Images", "The images of the template's containers.");
const SELECTOR: Column = Column::wide("Selector", "Which pods are meant, by their labels.");

pub(super) static JOB: BuiltIn = BuiltIn {
    columns: &[
        Column::name(),
        Column::text("Status", "The state of the job in one word."),
        Column::text("Completions", "How many pods have succeeded, of how many."),
        Column::text("Duration", "How long the job took, or has taken so far."),
        Column::age(),
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    needs: SPEC_AND_STATUS,
    row: job,
};

fn job<'a>(job: &'a Object<'_>, now: Timestamp) -> Row<'a> {
    let spec = job.spec();
    let (names, images) = format::containers(spec.at(&["template", "spec"]));
    Row::new([
        job.name().into(),
        state(job).into(),
        completions(job).into(),
        duration(job, now).into(),
        age::of(job, now).into(),
        names.into(),
        images.into(),
        format::selector(spec.get("selector")).into(),
    ])
}

fn state(job: &Object<'_>) -> &'static str {
    let holds = |condition: &str| format::condition(job.status(), condition) == "True";
    let ended = ["Complete", "Failed"].into_iter().find(|end| holds(end));
    ended.unwrap_or_else(|| {
        if job.is_going() {
            return "Terminating";
        }
        ["Suspended", "FailureTarget", "SuccessCriteriaMet"]
            .into_iter()
            .find(|state| holds(state))
            .unwrap_or("Running")
    })
}

fn completions(job: &Object<'_>) -> String {
    let spec = job.spec();
    let succeeded = job.status().get("succeeded").integer();
    let parallelism = spec.get("parallelism");
    match spec.get("completions") {
        // Who says neither wants one; who only says how many at once wants the first of them.
        wanted if wanted.is_null() => match parallelism.integer() {
            2.. => format!("{succeeded}/1 of {}", parallelism.integer()),
            _ => format!("{succeeded}/1"),
        },
        wanted => format!("{succeeded}/{}", wanted.integer()),
    }
}

fn duration(job: &Object<'_>, now: Timestamp) -> Cow<'static, str> {
    let time = |member: &str| age::parse(job.status().get(member).text());
    match time("startTime") {
        None => Cow::Borrowed(""),
        Some(start) => age::between(start, time("completionTime").unwrap_or(now)),
    }
}

pub(super) static CRON_JOB: BuiltIn = BuiltIn {
    columns: &[
        Column::name(),
        Column::text("Schedule", "When jobs are started, in cron's notation."),
        Column::text("Timezone", "The time zone of the schedule."),
        Column::new(
            "Suspend",
            ColumnKind::Boolean,
            "Whether no further jobs are started.",
        ),
        Column::integer("Active", "How many started jobs still run."),
        Column::text("Last Schedule", "The time since a job was last started."),
        Column::age(),
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    needs: SPEC_AND_STATUS,
    row: cron_job,
};

fn cron_job<'a>(cron: &'a Object<'_>, now: Timestamp) -> Row<'a> {
    let (spec, status) = (cron.spec(), cron.status());
    let job = spec.at(&["jobTemplate", "spec"]);
    let (names, images) = format::containers(job.at(&["template", "spec"]));
    let last = status.get("lastScheduleTime");
    Row::new([
        cron.name().into(),
        spec.get("schedule").text().into(),
        if spec.get("timeZone").is_null() {
            NONE.into()
        } else {
            spec.get("timeZone").text().into()
        },
        format::word(spec.get("suspend")).into(),
        Cell::Integer(i64::try_from(status.get("active").items().len()).unwrap_or(i64::MAX)),
        if last.is_null() {
            NONE.into()
        } else {
            age::since(last, now).into()
        },
        age::of(cron, now).into(),
        names.into(),
        images.into(),
        format::selector(job.get("selector")).into(),
    ])
}
