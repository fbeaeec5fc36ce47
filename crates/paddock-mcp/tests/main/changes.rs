//! A policy that changes while clients are connected.

use paddock_core::AccessScope;
use rmcp::model::{CallToolRequestParams, ServerNotification, SubscriptionFilter};
use rmcp::service::ClientLifecycleMode;
use serde_json::json;

use crate::harness::{Changing, Client, modern, policy, soon, store};

async fn names(client: &Client) -> usize {
    client.service.list_all_tools().await.unwrap().len()
}

#[tokio::test]
async fn a_legacy_client_is_told_on_its_connection() {
    let source = Changing::of(policy(AccessScope::ReadOnly, store()));
    let mut client = Client::connect(source.clone(), ClientLifecycleMode::Initialize).await;
    assert_eq!(names(&client).await, 4);
    source.change(policy(AccessScope::ReadWrite, store()));
    soon(client.changed.recv()).await.unwrap();
    assert_eq!(names(&client).await, 10);
    assert!(client.changed.try_recv().is_err(), "each change is told once");
    client.close().await;
}

#[tokio::test]
async fn a_modern_client_is_told_on_its_subscription_only() {
    let source = Changing::of(policy(AccessScope::ReadOnly, store()));
    let mut client = Client::connect(source.clone(), modern()).await;
    let filter = SubscriptionFilter::builder().tools_list_changed().prompts_list_changed().build();
    let mut subscription = soon(client.service.listen(filter)).await.unwrap();
    assert_eq!(subscription.acknowledged().tools_list_changed, Some(true));
    assert_eq!(subscription.acknowledged().prompts_list_changed, None, "there are no prompts");
    source.change(policy(AccessScope::WriteOnly, store()));
    let told = soon(subscription.next()).await.unwrap();
    assert!(matches!(told, Some(ServerNotification::ToolListChangedNotification(_))), "{told:?}");
    assert!(client.changed.try_recv().is_err());
    assert_eq!(names(&client).await, 3);
    client.close().await;
}

/// The clock stands still while anything can go on, so time that passes was waited for by somebody.
#[tokio::test(start_paused = true)]
async fn an_open_subscription_does_not_hold_the_end_back() {
    let source = Changing::of(policy(AccessScope::ReadOnly, store()));
    let client = Client::connect(source, modern()).await;
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let subscription = soon(client.service.listen(filter)).await.unwrap();
    let since = tokio::time::Instant::now();
    client.close().await;
    drop(subscription);
    assert!(since.elapsed() < std::time::Duration::from_secs(1), "{:?}", since.elapsed());
}

#[tokio::test]
async fn the_next_call_follows_the_new_policy_at_once() {
    let source = Changing::of(policy(AccessScope::ReadOnly, store()));
    let client = Client::connect(source.clone(), ClientLifecycleMode::Initialize).await;
    let write = CallToolRequestParams::new("write_file")
        .with_arguments(json!({"path": "b.txt", "content": "x"}).as_object().unwrap().clone());
    for (scope, refused) in
        [(AccessScope::ReadOnly, true), (AccessScope::ReadWrite, false), (AccessScope::ReadOnly, true)]
    {
        source.change(policy(scope, store()));
        let result = soon(client.service.call_tool(write.clone())).await.unwrap();
        assert_eq!(result.is_error.unwrap_or(false), refused, "{result:?}");
    }
    client.close().await;
}
