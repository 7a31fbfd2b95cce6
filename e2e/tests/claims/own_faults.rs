//! A controller that is killed between any two of its requests and started again.

mod content;
mod deleted;
mod end_state;
mod scenario;

use std::time::{Duration, Instant};

use rstest::rstest;
use sandgate_e2e::pair::{GRACE, Pair};
use sandgate_e2e::service;
use sandgate_e2e::{Cluster, Options, Outcome, OwnCluster};
use serde_json::Value;

use crate::audit;
use crate::controllers::{self, Controller};
use crate::proxy::{Cut, Proxy};
use crate::scene::Scene;
use content::Content;
use end_state::end_state;
use scenario::{Gone, Scenario};

/// How long a controller may take to be ready, or to come to its end.
const SOON: Duration = Duration::from_secs(30);
/// The API server tells nobody that all is as it has to be; it is asked this often.
const ASK_EVERY: Duration = Duration::from_millis(100);
/// What an undisturbed controller leaves is taken for the end once as many looks show the same.
const UNCHANGED: u32 = 10;

/// A cluster whose one controller reaches the API server through a proxy that cuts where told.
struct Stage {
    controller: Controller,
    proxy: Proxy,
    content: Content,
    cluster: OwnCluster,
}

/// A scenario that was played.
struct Played {
    scene: Scene,
    cut: Cut,
}

impl Stage {
    async fn enter() -> Outcome<Self> {
        let content = Content::new()?;
        let mut options = Options::default();
        let arguments = vec![
            content.argument(),
            format!("--claim-policy-grace={}s", GRACE.as_secs()),
        ];
        options
            .installation
            .controller_arguments
            .clone_from(&arguments);
        let mut cluster = Cluster::own(options).await?;
        Pair::ours(&cluster).in_force().await?;
        let proxy = Proxy::start(&cluster).await?;
        let controller =
            controllers::replace_first(&mut cluster, &proxy.server, &arguments).await?;
        Ok(Self {
            controller,
            proxy,
            content,
            cluster,
        })
    }

    /// Waits until the controller has seen the admission policy at work, which it tells by a metric alone.
    async fn has_proof(&self) -> Outcome {
        let address = self.controller.service.health_address();
        let proven = "sandgate_controller_policy_proven 1";
        Ok(service::counts(&address, proven, SOON).await?)
    }

    /// A namespace with all that the scenario begins with.
    async fn staged(&self, scenario: Scenario) -> Outcome<Scene> {
        let scene = Scene::on(&self.cluster, "cut").await?;
        let scene = Box::pin(scenario.stage(scene, &self.content)).await?;
        if scenario.needs_proof() {
            self.has_proof().await?;
        }
        Ok(scene)
    }

    /// Plays what follows up to the cut, at which the controller is killed; another one is started.
    async fn cut(&mut self, scenario: Scenario, scene: Scene, cut: Cut) -> Outcome<Played> {
        self.proxy.watch(scene.name(), cut);
        scenario.begin(&scene).await?;
        tokio::time::timeout(SOON, self.proxy.was_cut()).await?;
        self.controller.service.kill();
        self.proxy.pass_all_on();
        self.controller.service.start()?;
        Ok(Played { scene, cut })
    }

    /// What is left once nothing has changed for a while.
    async fn settled(&self, played: &Played) -> Outcome<Value> {
        let mut turn = tokio::time::interval(ASK_EVERY);
        let mut last = (Value::Null, 0);
        while last.1 < UNCHANGED {
            turn.tick().await;
            let state = end_state(&played.scene, &self.content).await?;
            last = if state == last.0 {
                (state, last.1 + 1)
            } else {
                (state, 0)
            };
        }
        Ok(last.0)
    }

    /// Waits until what is left is as expected.
    async fn ends(&self, scenario: Scenario, played: &Played, expected: &Value) -> Outcome {
        scenario.ends(&played.scene).await?;
        let deadline = Instant::now() + SOON;
        let mut turn = tokio::time::interval(ASK_EVERY);
        loop {
            turn.tick().await;
            let state = end_state(&played.scene, &self.content).await?;
            if state == *expected {
                return Ok(());
            }
            let differs = json_patch::diff(expected, &state);
            assert!(
                Instant::now() < deadline,
                "{:?} ends otherwise: {differs}",
                played.cut
            );
        }
    }

    /// Kills the controller at each write of the scenario, before and after it is carried out, and starts
    /// it again.
    async fn enumerate(&mut self, scenario: Scenario) -> Outcome {
        let undisturbed = Played {
            scene: Box::pin(self.staged(scenario)).await?,
            cut: Cut::Never,
        };
        self.proxy.watch(undisturbed.scene.name(), Cut::Never);
        scenario.begin(&undisturbed.scene).await?;
        scenario.ends(&undisturbed.scene).await?;
        let expected = self.settled(&undisturbed).await?;
        let mut writes = self.proxy.writes();
        // A look that comes before the watch has told of a deletion asks for it once more.
        writes.dedup_by(|next, write| next == write && write.starts_with("DELETE"));
        let enumerated = scenario.writes();
        let first = writes.get(..enumerated.len()).unwrap_or(&writes);
        assert_eq!(first, enumerated, "{writes:?}");
        let mut all = vec![undisturbed];
        for cut in (1..=enumerated.len()).flat_map(|turn| [Cut::Before(turn), Cut::After(turn)]) {
            // While the one that was started last puts right what the one before it left.
            let last = all.last().map(|it| self.ends(scenario, it, &expected));
            let last = async { last.unwrap().await };
            let (scene, ()) = tokio::try_join!(self.staged(scenario), last)?;
            all.push(self.cut(scenario, scene, cut).await?);
        }
        // Each that was started since has looked at all of them, too.
        for played in &all {
            self.ends(scenario, played, &expected).await?;
        }
        Ok(())
    }
}

async fn killed_at_each_request(scenarios: &[Scenario]) -> Outcome {
    let mut stage = Stage::enter().await?;
    for scenario in scenarios {
        let began = Instant::now();
        Box::pin(stage.enumerate(*scenario)).await?;
        println!("{scenario:?}: {:?}", began.elapsed());
    }
    let scene = Scene::on(&stage.cluster, "last").await?;
    let ours = audit::up_to_now(&scene, audit::CONTROLLER).await?;
    audit::assert_nothing_was_forbidden(&ours);
    Ok(())
}

// Proves: O-001, O-037, C-001, C-008, C-011, C-012, C-035
#[rstest]
#[case::building(&[Scenario::Built, Scenario::Held])]
#[case::letting_in_and_ending(&[Scenario::LetIn, Scenario::Failed])]
#[tokio::test]
async fn a_controller_killed_between_any_two_requests_ends_where_an_undisturbed_one_does(
    #[case] scenarios: &[Scenario],
) -> Outcome {
    Box::pin(killed_at_each_request(scenarios)).await
}

// Proves: C-001, C-023, C-025, K-005, K-006
#[rstest]
#[case::a_directory(Scenario::Mounted)]
#[case::a_credential(Scenario::Connected)]
#[tokio::test]
async fn a_controller_killed_while_it_gives_a_sandbox_what_it_asked_for_gives_it_all_the_same(
    #[case] scenario: Scenario,
) -> Outcome {
    Box::pin(killed_at_each_request(&[scenario])).await
}

// Proves: K-029, K-030, K-031
#[tokio::test]
async fn a_controller_killed_while_it_takes_a_credential_away_takes_it_all_the_same() -> Outcome {
    Box::pin(killed_at_each_request(&[Scenario::Revoked(Gone::Secret)])).await
}

mod slow {
    use super::{Gone, Outcome, Scenario, killed_at_each_request};

    // Proves: K-030, K-031
    #[tokio::test]
    async fn the_same_where_a_key_or_the_connection_goes() -> Outcome {
        let gone = [Gone::Key, Gone::Connection].map(Scenario::Revoked);
        Box::pin(killed_at_each_request(&gone)).await
    }
}
