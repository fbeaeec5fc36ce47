//! The Workspaces of one agent as JavaScript uses them: what there is this turn, and calls.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use napi::bindgen_prelude::{Buffer, ClassInstance, Object, spawn_blocking};
use napi::{Env, Result};
use napi_derive::napi;
use paddock_config::{Base, Host, Ports, ProgramCommands, ProgramMount, program, program_commands, upkeep};
use paddock_core::{AccessScope, AgentName, NoAudit, visible};
use paddock_desk::{Project, project};
use paddock_tools::{Answer, Control, Piece, PolicySource, ToolNames, ToolSpec, Toolbox};
use serde_json::{Map, Value};

use crate::lane::Lane;
use crate::place::{host, installation, places, stay_loaded, told, told_with};
use crate::stores::NativeStore;

/// A Workspace: where it is seen, with which Access Scope, and its Store.
#[napi(object, object_to_js = false)]
pub struct NativeMount {
    /// Where the agent sees it.
    pub prefix: String,
    /// `READ_ONLY`, `READ_WRITE` or `WRITE_ONLY`.
    pub scope: String,
    /// What backs it.
    pub store: ClassInstance<'static, NativeStore>,
    /// The names that do not exist for the agent.
    pub hide: Option<Vec<String>>,
}

/// What else is said about an agent.
#[napi(object)]
pub struct NativeOptions {
    /// Its name.
    pub agent: Option<String>,
    /// Where its relative paths start.
    pub base: Option<String>,
    /// The Mounts are given by a function, and others each time.
    pub changing: Option<bool>,
    /// A list of tool names.
    pub preset: Option<String>,
    /// Other names for some tools.
    pub tool_names: Option<HashMap<String, String>>,
    /// The System Root, where it is not the usual one.
    pub home: Option<String>,
}

impl NativeOptions {
    fn agent(&self) -> Result<AgentName> {
        self.agent.as_deref().map_or_else(|| Ok(AgentName::main()), AgentName::parse).map_err(told)
    }

    fn base(&self) -> Option<Base<'_>> {
        let how = if self.changing == Some(true) { Base::Anywhere } else { Base::Here };
        self.base.as_deref().map(how)
    }

    fn names(&self) -> Result<ToolNames> {
        let names = ToolNames::preset(self.preset.as_deref().unwrap_or("paddock")).map_err(told)?;
        let others = self.tool_names.iter().flatten().map(|(tool, name)| (tool.as_str(), name.as_str()));
        names.with(others).map_err(told)
    }
}

/// Which of an agent's tools are provided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Those that never run a command.
    Files,
    /// The one that runs commands.
    Commands,
}

/// What the command line has an option for.
const NAME_A_FILE: &str = "give fromConfig the path of a paddock.toml, as seen from where the program runs";

/// The tools of one agent.
#[napi]
pub struct NativeWorkspaces {
    tools: Arc<Tools>,
}

struct Tools {
    toolbox: Toolbox,
    names: ToolNames,
    part: Part,
    /// Did a program give the Workspaces, and no file?
    by_program: bool,
    lane: Arc<Lane>,
}

/// What a person is told to do in a file, and what there is to do in its place where a program gives the Workspaces.
const IN_A_PROGRAM: [(&str, &str); 3] = [
    (
        "A person can begin with `paddock init` in the directory of the project.",
        "A person can add one to the mounts of the program.",
    ),
    ("A person can allow it with unguard in paddock.toml.", "A person has to do it."),
    (
        "A person can let it through with [approvals] above in paddock.toml.",
        "A person can be asked where the Workspaces come from a file, with fromConfig.",
    ),
];

/// What there is in one turn.
#[napi(object)]
pub struct NativeTurn {
    /// The Filesystem Map.
    pub map: String,
    /// The tools.
    pub tools: Vec<NativeTool>,
}

/// A tool as it is offered.
#[napi(object)]
pub struct NativeTool {
    /// What it is called.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// What it does, and where.
    pub description: String,
    /// The JSON Schema of its arguments, as text.
    pub schema: String,
    /// It changes nothing.
    pub read_only: bool,
    /// It may replace or remove what is there.
    pub destructive: bool,
}

/// What a call came to.
#[napi(object)]
pub struct NativeAnswer {
    /// `done`, `denied`, `failed`, `invalid` or `parked`.
    pub verdict: String,
    /// Why it was not done, in one word.
    pub reason: Option<String>,
    /// What the agent reads.
    pub pieces: Vec<NativePiece>,
    /// Facts for programs, as JSON.
    pub facts: String,
}

/// One piece of an answer.
#[napi(object)]
pub struct NativePiece {
    /// `text` or `image`.
    pub kind: String,
    /// The text.
    pub text: Option<String>,
    /// The media type of an image.
    pub mime: Option<String>,
    /// The bytes of an image.
    pub data: Option<Buffer>,
}

#[napi]
impl NativeWorkspaces {
    /// Those that a program gives.
    #[napi(factory)]
    pub fn of_mounts(mounts: Vec<NativeMount>, options: NativeOptions) -> Result<Self> {
        given(&mounts, &options, &host()?, None)
    }

    /// The same, and of the tools only the one that runs commands.
    #[napi(factory)]
    pub fn commands_of_mounts(mounts: Vec<NativeMount>, options: NativeOptions, commands: String) -> Result<Self> {
        let host = host()?;
        let settings =
            program_commands(as_table(&commands)?, &host).map_err(|error| told_with(&error, error.hint()))?;
        // What a command changes waits in the System Root, which no Workspace and nobody else reaches.
        let runner = project::runner(installation()?.home(), Arc::new(NoAudit));
        given(&mounts, &options, &host, Some(ProgramCommands { settings, runner }))
    }

    /// Those of an agent in a configuration, which is watched: audited, and with a person who is asked.
    #[napi(factory)]
    pub fn from_config(env: Env, path: String, options: NativeOptions) -> Result<Self> {
        configured(env, path, &options, Part::Files)
    }

    /// The same, and of the tools only the one that runs commands.
    #[napi(factory)]
    pub fn commands_from_config(env: Env, path: String, options: NativeOptions) -> Result<Self> {
        configured(env, path, &options, Part::Commands)
    }

    /// What there is now.
    #[napi(ts_return_type = "Promise<NativeTurn>")]
    pub fn turn<'e>(&self, env: &'e Env) -> Result<Object<'e>> {
        let tools = Arc::clone(&self.tools);
        // Not an `async fn`: what becomes of one when its worker ends is not ours to say.
        let (deferred, promise) = env.create_deferred()?;
        spawn_blocking(move || {
            let turn = catch_unwind(AssertUnwindSafe(|| tools.turn()));
            deferred.resolve(move |_| turn.map_err(|_| told("something broke inside Paddock")));
        });
        Ok(promise)
    }

    /// Is a tool of this name ours, provided now or not?
    #[napi]
    pub fn knows(&self, name: String) -> bool {
        self.tools.meant(&name).is_some()
    }

    /// A call that is about to be made.
    #[napi]
    pub fn call(&self, name: String, arguments: String, time_limit: f64) -> NativeCall {
        // Past every bound that a call has anyway; what is no number is no time.
        let time_limit = Duration::from_millis(time_limit.clamp(0.0, 1e9) as u64);
        let control =
            Control::for_at_most(self.tools.toolbox.longest(self.tools.meant(&name).unwrap_or(&name), time_limit));
        NativeCall { tools: Arc::clone(&self.tools), name, arguments, control }
    }
}

impl Tools {
    /// Our tool of this name.
    fn meant(&self, name: &str) -> Option<&'static str> {
        self.names.meant(name).filter(|tool| self.provides(tool))
    }

    fn provides(&self, tool: &str) -> bool {
        self.toolbox.runs_commands(tool) == (self.part == Part::Commands)
    }

    /// A text for the agent: with the names that tools have here, and with what can be done here.
    fn worded(&self, text: &str) -> String {
        let text = self.names.in_text(text).into_owned();
        if !self.by_program {
            return text;
        }
        IN_A_PROGRAM.iter().fold(text, |text, (in_a_file, here)| text.replace(in_a_file, here))
    }

    fn turn(&self) -> NativeTurn {
        let ours = self.toolbox.tools().into_iter().filter(|tool| self.provides(tool.name));
        let map = match self.part {
            Part::Files => self.worded(&self.toolbox.filesystem_map()),
            // Told by the tools of files, which stand beside.
            Part::Commands => String::new(),
        };
        NativeTurn { map, tools: ours.map(|tool| self.shown(&tool)).collect() }
    }

    fn shown(&self, tool: &ToolSpec) -> NativeTool {
        let schema = Value::Object(self.names.schema(tool.name, (*tool.input_schema).clone())).to_string();
        NativeTool {
            name: self.names.of(tool.name).to_owned(),
            title: tool.title.to_owned(),
            description: self.names.in_text(&tool.description).into_owned(),
            schema: self.names.in_text(&schema).into_owned(),
            read_only: tool.hints.read_only,
            destructive: tool.hints.destructive,
        }
    }

    fn answer(&self, name: &str, arguments: &str, control: &Control) -> NativeAnswer {
        let Some(tool) = self.meant(name) else {
            return invalid("unknown_tool", format!("There is no tool \"{}\".", visible(name)));
        };
        match serde_json::from_str::<Map<String, Value>>(arguments) {
            Ok(arguments) => self.told(self.toolbox.call(tool, self.names.arguments(tool, arguments), control)),
            Err(error) => invalid("arguments", format!("The arguments are not a JSON object: {error}")),
        }
    }

    fn told(&self, answer: Answer) -> NativeAnswer {
        let is_error = answer.is_error();
        let piece = |piece| match piece {
            // What was done may hold the content of a file, and that stays as it is.
            Piece::Text(text) if is_error => of_text(self.worded(&text)),
            Piece::Text(text) => of_text(text),
            Piece::Image { mime, data } => NativePiece {
                kind: "image".to_owned(),
                text: None,
                mime: Some(mime.to_owned()),
                data: Some(data.into()),
            },
        };
        NativeAnswer {
            verdict: answer.verdict.name().to_owned(),
            reason: answer.structured.get("error").and_then(Value::as_str).map(str::to_owned),
            pieces: answer.content.into_iter().map(piece).collect(),
            facts: Value::Object(answer.structured).to_string(),
        }
    }
}

/// The answer to what never came to a tool.
fn invalid(reason: &str, text: String) -> NativeAnswer {
    NativeAnswer {
        verdict: "invalid".to_owned(),
        reason: Some(reason.to_owned()),
        pieces: vec![of_text(format!("❌ ERROR: {text}"))],
        facts: "{}".to_owned(),
    }
}

fn of_text(text: String) -> NativePiece {
    NativePiece { kind: "text".to_owned(), text: Some(text), mime: None, data: None }
}

/// One call.
#[napi]
pub struct NativeCall {
    tools: Arc<Tools>,
    name: String,
    arguments: String,
    control: Control,
}

#[napi]
impl NativeCall {
    /// Makes it. Whatever happens becomes an answer.
    #[napi(ts_return_type = "Promise<NativeAnswer>")]
    pub fn answer<'e>(&self, env: &'e Env) -> Result<Object<'e>> {
        let (tools, name, arguments, control) =
            (Arc::clone(&self.tools), self.name.clone(), self.arguments.clone(), self.control.clone());
        // Straight to a thread and back: each hop more would cost as much as a small read.
        let (deferred, promise) = env.create_deferred()?;
        let lane = Arc::clone(&self.tools.lane);
        lane.run(Box::new(move || {
            let answer = tools.answer(&name, &arguments, &control);
            deferred.resolve(move |_| Ok(answer));
        }));
        Ok(promise)
    }

    /// Asks it to stop.
    #[napi]
    pub fn stop(&self) {
        self.control.cancel.stop();
    }
}

fn given(
    mounts: &[NativeMount],
    options: &NativeOptions,
    host: &Host,
    commands: Option<ProgramCommands>,
) -> Result<NativeWorkspaces> {
    stay_loaded();
    let part = if commands.is_some() { Part::Commands } else { Part::Files };
    let mounts = mounts.iter().map(mount).collect::<Result<Vec<ProgramMount>>>()?;
    let ports = Ports::in_memory(project::gate());
    let policy = program(options.agent()?, options.base(), &mounts, commands, host, &ports);
    let policy = policy.map_err(|error| told_with(&error, error.hint()))?;
    let (toolbox, names) = (Toolbox::fixed(policy), options.names()?);
    let tools = Tools { toolbox, names, part, by_program: true, lane: Lane::of(&mounts) };
    Ok(NativeWorkspaces { tools: Arc::new(tools) })
}

fn mount(given: &NativeMount) -> Result<ProgramMount> {
    let scope: AccessScope = given.scope.parse().map_err(told)?;
    let (prefix, store, hide) = (given.prefix.clone(), given.store.store.clone(), given.hide.clone());
    Ok(ProgramMount { prefix, scope, store, hide })
}

fn configured(env: Env, path: String, options: &NativeOptions, part: Part) -> Result<NativeWorkspaces> {
    stay_loaded();
    let places = places(options.home.clone().map(PathBuf::from), Some(PathBuf::from(path)));
    let project = Project::with_config(&places).map_err(|failure| {
        let text = failure.to_string();
        told(text.replace("name a paddock.toml that exists, or leave --config out", NAME_A_FILE))
    })?;
    let project = if part == Part::Files { project.without_commands() } else { project };
    upkeep::stay();
    let (policy, _) = project.working_as(options.agent()?).map_err(told)?;
    let policy: Arc<dyn PolicySource> = Arc::new(policy);
    // What only looked is recorded a moment after its answer, and the program's end must not come before.
    let at_the_end: Weak<dyn PolicySource> = Arc::downgrade(&policy);
    env.add_env_cleanup_hook(at_the_end, |policy| {
        let _ = policy.upgrade().map(|policy| policy.audit().flush());
    })?;
    let (toolbox, names) = (Toolbox::new(policy), options.names()?);
    let tools = Tools { toolbox, names, part, by_program: false, lane: Arc::default() };
    Ok(NativeWorkspaces { tools: Arc::new(tools) })
}

/// A JSON object as a TOML table, so that it is read as strictly as a file.
fn as_table(json: &str) -> Result<toml::Table> {
    serde_json::from_str(json).map_err(told)
}
