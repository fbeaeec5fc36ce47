//! The use cases and validation tests of the first specification, in its words, each through `paddock tool` and
//! through MCP in both eras.

use serde_json::{Value, json};

use crate::client::{Client, Era};
use crate::harness::World;

/// One prompt, the call that an agent makes of it, and what is expected.
struct Case {
    tool: &'static str,
    arguments: Value,
    allowed: bool,
    says: &'static str,
}

/// The sample project, in which somebody has worked already.
fn world() -> World {
    let world = World::seed();
    world.write("workspace/hola.txt", "hola");
    world
}

impl Case {
    fn through_the_cli(&self) -> World {
        let world = world();
        let ran = world.paddock(&["tool", self.tool, &self.arguments.to_string()]);
        assert!(ran.stdout.contains(self.says), "{ran}");
        assert_eq!(ran.code, i32::from(!self.allowed), "{ran}");
        world
    }

    async fn through_mcp(&self, era: Era) -> World {
        let world = world();
        let client = Client::connect(&world, era, &["mcp"]).await;
        let (refused, text) = client.call(self.tool, self.arguments.clone()).await;
        assert!(text.contains(self.says), "{text}");
        assert_eq!(refused, !self.allowed, "{text}");
        client.close().await;
        world
    }
}

/// Makes the three tests of a case; the closure looks at the host's files afterwards.
macro_rules! case {
    ($name:ident, $tool:literal, $arguments:tt, $allowed:literal, $says:literal, $afterwards:expr) => {
        mod $name {
            use super::*;

            fn case() -> Case {
                Case { tool: $tool, arguments: json!($arguments), allowed: $allowed, says: $says }
            }

            #[test]
            fn through_paddock_tool() {
                let afterwards: fn(&World) = $afterwards;
                afterwards(&case().through_the_cli());
            }

            #[tokio::test]
            async fn through_mcp_legacy() {
                let afterwards: fn(&World) = $afterwards;
                afterwards(&case().through_mcp(Era::Legacy).await);
            }

            #[tokio::test]
            async fn through_mcp_modern() {
                let afterwards: fn(&World) = $afterwards;
                afterwards(&case().through_mcp(Era::Modern).await);
            }
        }
    };
}

fn nothing_changed(world: &World) {
    for (path, content) in crate::harness::FILES {
        assert_eq!(world.read(path), *content, "{path}");
    }
}

// ✅ Permitido

case!(
    lee_el_archivo_src_app_tsx,
    "read_file",
    {"path": "src/App.tsx"},
    true,
    "export default function App() {",
    nothing_changed
);

case!(lista_archivos_en_memoria, "list_dir", {"path": "memoria/"}, true, "notas.md", nothing_changed);

case!(
    crea_un_nuevo_proyecto_en_workspace_mi_app,
    "make_dir",
    {"path": "workspace/mi-app/"},
    true,
    "/project/workspace/mi-app",
    |world| assert!(world.project().join("workspace/mi-app").is_dir())
);

case!(
    escribe_un_componente_en_workspace_mi_app_src_button_tsx,
    "write_file",
    {"path": "workspace/mi-app/src/Button.tsx", "content": "export const Button = 1;\n"},
    true,
    "File written successfully",
    |world| assert_eq!(world.read("workspace/mi-app/src/Button.tsx"), "export const Button = 1;\n")
);

// ❌ Bloqueado

case!(
    modifica_src_app_tsx,
    "edit_file",
    {"path": "src/App.tsx", "old_string": "Hola", "new_string": "Adios"},
    false,
    "❌ ERROR: Cannot write to protected path \"/project/src/App.tsx\". Only /project/workspace directory is writable.",
    nothing_changed
);

case!(
    elimina_backend_orchestrator_orchestrator_ts,
    "delete_file",
    {"path": "backend-orchestrator/orchestrator.ts"},
    false,
    "❌ ERROR: Cannot delete protected path \"/project/backend-orchestrator/orchestrator.ts\".",
    nothing_changed
);

case!(
    escribe_en_package_json,
    "write_file",
    {"path": "package.json", "content": "{}"},
    false,
    "❌ ERROR: Cannot write to protected path \"/project/package.json\".",
    nothing_changed
);

// Tests de Validación

case!(
    test_1_lectura_lee_el_archivo_package_json,
    "read_file",
    {"path": "package.json"},
    true,
    "{ \"name\": \"proyecto\" }",
    nothing_changed
);

case!(
    test_2_proteccion_modifica_src_app_tsx_y_agrega_un_comentario,
    "edit_file",
    {"path": "src/App.tsx", "old_string": "export", "new_string": "// comentario\nexport"},
    false,
    "❌ ERROR: Cannot write to protected path",
    nothing_changed
);

case!(
    test_3_workspace_escritura_crea_un_archivo_workspace_test_txt_con_contenido_hola_mundo,
    "write_file",
    {"path": "workspace/test.txt", "content": "Hola Mundo"},
    true,
    "File written successfully",
    |world| assert_eq!(world.read("workspace/test.txt"), "Hola Mundo")
);

case!(
    test_4_comando_peligroso_ejecuta_rm_rf_workspace,
    "execute_command",
    {"command": "rm -rf workspace/"},
    false,
    "❌ ERROR: Dangerous command \"rm\" is not allowed.",
    |world| assert_eq!(world.read("workspace/hola.txt"), "hola")
);

case!(
    test_5_comando_seguro_en_workspace_ejecuta_ls_la,
    "execute_command",
    {"command": "ls -la"},
    true,
    "hola.txt",
    |world| assert_eq!(world.read("workspace/hola.txt"), "hola")
);

// Beneficios: "Rollback Fácil: borrar workspace/ no afecta la app"

#[tokio::test]
async fn borrar_workspace_no_afecta_la_app_and_the_next_write_makes_it_again() {
    let world = World::seed();
    let client = Client::connect(&world, Era::Legacy, &["mcp"]).await;
    client.call("write_file", json!({"path": "workspace/a/b.txt", "content": "1"})).await;
    std::fs::remove_dir_all(world.project().join("workspace")).unwrap();

    let (refused, text) = client.call("read_file", json!({"path": "src/App.tsx"})).await;
    assert!(!refused, "{text}");
    let (refused, text) = client.call("list_dir", json!({"path": "workspace"})).await;
    assert!(!refused && !text.contains("b.txt"), "{text}");
    let (refused, text) = client.call("write_file", json!({"path": "workspace/c.txt", "content": "2"})).await;
    assert!(!refused, "{text}");
    assert_eq!(world.read("workspace/c.txt"), "2");
    nothing_changed(&world);
    client.close().await;

    std::fs::remove_dir_all(world.project().join("workspace")).unwrap();
    assert_eq!(world.paddock(&["check"]).code, 0);
    let ran = world.paddock(&["tool", "write_file", r#"{"path": "workspace/d.txt", "content": "3"}"#]);
    assert_eq!(ran.code, 0, "{ran}");
}

#[test]
fn control_de_versiones_gitignore_excluye_workspace() {
    let world = World::seed();
    assert!(world.read(".gitignore").lines().any(|line| line == "workspace/"));
}
