//! Where the instances of a project are kept, as its configuration says.

use paddock_config::{ConfigFile, Installation, Settings};
use paddock_db::postgres_testing::Database;
use paddock_state::{InstanceKey, Secrets};

use crate::support::Project;

fn installed(project: &Project, text: &str) -> Installation {
    let file = ConfigFile::parse("paddock.toml", text).unwrap();
    let settings = Settings::of(project.root.clone(), Some(&file), &Secrets::none()).unwrap();
    Installation::claim(&project.system_root(), &settings).unwrap()
}

fn main() -> InstanceKey {
    InstanceKey::new("main").unwrap()
}

#[test]
fn without_a_word_they_are_files_in_the_projects_place() {
    let project = Project::new();
    let installation = installed(&project, "name = \"p\"");
    installation.instances().unwrap().create(&main(), "agent").unwrap();
    assert!(installation.home().unwrap().instances_dir().join("main/metadata.json").is_file());
    assert!(Installation::in_memory().instances().is_none());
}

#[test]
fn with_a_postgres_server_they_are_on_it_under_the_id_of_the_state() {
    let database = Database::fresh();
    let text = |id: &str| format!("name = \"p\"\n[state]\nurl = \"{}\"\nid = \"{id}\"", database.url());
    let (one, two) = (Project::new(), Project::new());
    let here = installed(&one, &text("shared"));
    here.instances().unwrap().create(&main(), "agent").unwrap();
    assert!(!here.home().unwrap().instances_dir().join("main").exists());
    let of = |id: &str| installed(&two, &text(id)).instances().unwrap().show(&main()).unwrap();
    assert_eq!(of("shared").unwrap().agent_name, "agent");
    assert_eq!(of("another"), None);
}
